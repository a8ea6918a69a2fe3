"""Where a request stands: three shapes, an ended one that says so, and a wait that never lies."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from styx_core.contract.grants import Offer
from styx_core.errors import BY_CODE, Unavailable, UnknownGrant
from styx_core.ids import new_id
from styx_mcp_gateway.codes import CODES, PEOPLE_ONLY

WANTED = {"target": "shop", "scopes": ["delete", "read"], "reason": "look"}


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


async def test_an_active_one_shows_what_was_granted(desk: Any, until_ms: tuple[Any, int]) -> None:
    until, epoch = until_ms
    desk.grants.at_once = {"status": "active", "decided_by": "target-policy", "expires_at": until}
    made = await desk("request_access", WANTED)
    (grant_id,) = desk.grants.access
    assert made.fields == {
        "status": "active",
        "grantId": grant_id,
        "scope": "read delete",
        "expiresAt": epoch,
        "decidedBy": "target-policy",
    }


async def test_a_denied_one_says_why(desk: Any) -> None:
    desk.grants.at_once = {"status": "denied", "why": "no deletes on prod"}
    made = await desk("request_access", WANTED)
    (grant_id,) = desk.grants.access
    assert made.fields == {"status": "denied", "grantId": grant_id, "why": "no deletes on prod"}


async def test_a_denied_one_says_what_there_is_instead(desk: Any) -> None:
    instead = {"target": "shop", "scopes": ("read",), "duration": "1h"}
    desk.grants.at_once = {"status": "denied", "why": "no", "instead": Offer(**instead)}
    made = await desk("request_access", WANTED)
    assert made.fields["instead"] == {**instead, "scopes": ["read"]}


async def test_a_pending_one_says_its_place_and_stays(desk: Any) -> None:
    made = await desk("request_access", {**WANTED, "wait_s": 0})
    (grant_id,) = desk.grants.access
    assert made.fields == {"status": "pending", "grantId": grant_id, "queuePosition": 1}


@pytest.mark.parametrize("tool", ["check_grant", "get_credential"])
async def test_an_ended_one_says_to_ask_again(desk: Any, tool: str) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="ended", why="one hour unused").grant_id
    made = await desk(tool, {"grantId": grant_id})
    assert made.fields is None
    assert "ask again with request_access" in made.refused
    assert made.refused.endswith("(code -32007)")


async def test_an_unknown_one_reads_as_another_projects(desk: Any) -> None:
    made = await desk("check_grant", {"grantId": new_id("grt")})
    assert made.refused == "unknown grant (code -32006)"


@pytest.mark.parametrize("status", ["active", "denied"])
async def test_a_held_call_returns_when_it_is_decided(desk: Any, status: str) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="pending").grant_id
    held = asyncio.create_task(desk("check_grant", {"grantId": grant_id}))
    await until(lambda: desk.said)
    assert not held.done()
    await desk.grants.decide(grant_id, status=status, decided_by="user")
    assert (await held).fields["status"] == status


async def test_a_request_that_ends_while_it_is_held_says_so(desk: Any) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="pending").grant_id
    held = asyncio.create_task(desk("check_grant", {"grantId": grant_id}))
    await until(lambda: desk.said)
    await desk.grants.decide(grant_id, status="ended", why="the task ended")
    assert "has ended (the task ended)" in (await held).refused


async def test_services_that_restart_during_a_hold_do_not_end_it(desk: Any) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="pending").grant_id
    held = asyncio.create_task(desk("check_grant", {"grantId": grant_id}))
    await until(lambda: desk.said)
    desk.grants.fails = Unavailable("grants is not running; nothing was done")
    await desk.grants.decide(grant_id, status="pending")
    await until(lambda: len(desk.said) > 1)
    desk.grants.fails = None
    await desk.grants.decide(grant_id, status="active", decided_by="user")
    assert (await held).fields["status"] == "active"


async def test_a_grant_that_may_not_be_seen_any_more_ends_the_hold(desk: Any) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="pending").grant_id
    held = asyncio.create_task(desk("check_grant", {"grantId": grant_id}))
    await until(lambda: desk.said)
    desk.grants.fails = UnknownGrant("unknown grant")
    await desk.grants.decide(grant_id, status="pending")
    assert (await held).refused == "unknown grant (code -32006)"


async def test_a_hold_that_is_over_is_pending(desk: Any) -> None:
    desk.deps = replace(desk.deps, hold_seconds=0.05)
    made = await desk("request_access", WANTED)
    assert made.fields["status"] == "pending"


async def test_draining_answers_pending(desk: Any) -> None:
    held = asyncio.create_task(desk("request_access", WANTED))
    await until(lambda: desk.said)
    desk.deps.waiting.drain()
    assert (await held).fields["status"] == "pending"


def test_each_error_has_a_code_of_its_own_in_the_servers_range() -> None:
    assert set(CODES) == set(BY_CODE) - PEOPLE_ONLY
    assert len(set(CODES.values())) == len(CODES)
    assert set(CODES.values()) <= set(range(-32019, -31999))
    assert CODES["rate_limited"] == -32003
