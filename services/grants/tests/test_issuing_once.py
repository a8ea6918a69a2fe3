"""Grants for one command: they fit that command alone, go to one call, and are spent by its end."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from grants_fixture import ALLOW, START, World, opened
from styx_core.contract.grants import Authorize, ReportUse
from styx_core.contract.grants_events import CredentialIssued, CredentialRevoked, GrantEnded
from styx_core.errors import Forbidden, GrantOver
from styx_grants import repository as repo

grants = pytest.fixture(opened)


async def once(grants: World) -> tuple[str, Authorize]:
    """A call that waited and was approved for this one time: its grant, and the call."""
    call = grants.call("delete")
    grant_id = (await grants.say(call)).access.grant_id
    await grants.decide(grant_id, duration="once")
    return grant_id, call


async def test_it_waits_five_minutes_for_its_command(grants: World) -> None:
    grant_id, call = await once(grants)
    (row,) = await grants.rows(repo.GRANT)
    assert row.expires_at == START + timedelta(minutes=5)
    answer = await grants.say(call)
    (asked,) = grants.adapters.asked
    assert answer.access.grant_id == grant_id
    assert (asked.once, asked.expires_at) == (True, row.expires_at)
    assert grants.opens(answer, call.exec_id)


@pytest.mark.parametrize(
    "other",
    [{"command_digest": "e" * 64}, {"scopes": ("read", "delete")}, {"target": "prod"}],
    ids=lambda other: next(iter(other)),
)
async def test_it_covers_no_other_command(grants: World, other: dict[str, Any]) -> None:
    grant_id, _ = await once(grants)
    answer = await grants.ask("delete", **other)
    assert (answer.access.status, answer.sealed) == ("pending", None)
    assert answer.access.grant_id != grant_id
    assert grants.adapters.asked == []


async def test_a_second_call_of_the_same_words_asks_anew(grants: World) -> None:
    grant_id, call = await once(grants)
    await grants.say(call)
    answer = await grants.ask("delete")
    assert answer.access.status == "pending"
    assert answer.access.grant_id != grant_id
    assert len(grants.adapters.asked) == 1


async def test_of_two_calls_at_once_one_gets_it_and_the_other_s_mint_is_taken_back(
    grants: World,
) -> None:
    await once(grants)
    calls = [grants.say(grants.call("delete")) for _ in range(2)]
    answers = await asyncio.gather(*calls, return_exceptions=True)
    (won,) = [a for a in answers if not isinstance(a, BaseException)]
    (lost,) = [a for a in answers if isinstance(a, BaseException)]
    assert isinstance(lost, GrantOver)
    assert won.sealed is not None
    (lease,) = await grants.rows(repo.LEASE)
    assert (lease.id, lease.ended_at) == (won.sealed.lease_id, None)
    minted = {command.lease_id for command in grants.adapters.asked}
    assert grants.adapters.revoked() == minted - {lease.id}
    assert len(await grants.events(CredentialIssued)) == 1


async def test_its_end_spends_it_and_ends_its_credential(grants: World) -> None:
    grant_id, call = await once(grants)
    answer = await grants.say(call)
    await grants.say(ReportUse(task_id=grants.task, exec_id=call.exec_id, exit_code=3))
    (row,) = await grants.rows(repo.GRANT)
    (ended,) = await grants.events(GrantEnded)
    (revoked,) = await grants.events(CredentialRevoked)
    assert (row.state, row.end_why) == ("spent", "its one command has run")
    assert (ended.grant_id, ended.state) == (grant_id, "spent")
    assert revoked.lease_id == answer.sealed.lease_id
    assert grants.adapters.revoked() == {answer.sealed.lease_id}


async def test_its_bare_credential_is_refused(grants: World) -> None:
    grant_id, _ = await once(grants)
    assert "for one command alone" in await grants.refused(Forbidden, grants.get(grant_id))


async def test_asked_ahead_it_fits_the_command_that_was_named(grants: World) -> None:
    call = grants.call("delete")
    ahead = grants.ahead(
        "delete", command=call.command, command_digest=call.command_digest, duration="once"
    )
    asked = await grants.say(ahead)
    await grants.decide(asked.grant_id)
    answer = await grants.say(call)
    assert (answer.access.status, answer.access.grant_id) == ("active", asked.grant_id)


async def test_it_does_not_answer_who_asks_ahead_for_the_same_scopes(grants: World) -> None:
    await once(grants)
    assert (await grants.say(grants.ahead("delete"))).status == "pending"


async def test_what_policy_allows_once_is_once(grants: World) -> None:
    await grants.policy(ALLOW)
    call = grants.call()
    named = {"command": call.command, "command_digest": call.command_digest}
    given = await grants.say(grants.ahead(duration="once", **named))
    assert given.expires_at == START + timedelta(minutes=5)
    assert (await grants.say(call)).access.grant_id == given.grant_id
    assert (await grants.ask()).access.grant_id != given.grant_id
