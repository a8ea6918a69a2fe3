"""Opening a request: allowed, asked or denied by policy, each recorded, none of them twice."""

import asyncio
from datetime import timedelta

import pytest
from grants_fixture import ALLOW, ASK, DAY, DENY, START, World, opened
from styx_core.contract.grants_events import AccessRequested, CredentialIssued, GrantDecided
from styx_grants import repository as repo

grants = pytest.fixture(opened)

READS = """[[rule]]
id = "reads"
effect = "allow"
max_seconds = 600
[rule.match]
scopes = ["read"]
"""
AT_NIGHT = """[[rule]]
id = "nights"
effect = "allow"
[rule.match]
hours = { from = "22:00", to = "06:00" }
"""


async def test_what_policy_allows_is_in_the_stream_before_the_answer(grants: World) -> None:
    await grants.policy(READS)
    call = grants.call()
    answer = await grants.say(call)
    (issued,) = grants.streamed(CredentialIssued)
    (decided,) = await grants.events(GrantDecided)
    assert answer.access.status == "active"
    assert grants.opens(answer, call.exec_id)
    assert issued.grant_id == decided.grant_id == answer.access.grant_id
    assert answer.access.expires_at == decided.expires_at == START + timedelta(seconds=600)
    assert (decided.verdict, decided.decided_by, decided.because) == (
        "approve",
        "policy",
        ("reads",),
    )


async def test_silence_asks_a_person_and_issues_nothing(grants: World) -> None:
    answer = await grants.ask("write", "delete")
    (asked,) = await grants.events(AccessRequested)
    assert (answer.access.status, answer.sealed) == ("pending", None)
    assert answer.access.queue_position == 1
    assert (asked.grant_id, asked.scopes) == (answer.access.grant_id, ("write", "delete"))
    assert (asked.command, asked.understood) == (("aws", "s3", "ls"), "s3 ls reads")
    assert grants.adapters.asked == []


async def test_a_denial_is_recorded_with_its_rule_and_issues_nothing(grants: World) -> None:
    await grants.policy(DENY)
    answer = await grants.ask()
    (decided,) = await grants.events(GrantDecided)
    assert (answer.access.status, answer.access.because) == ("denied", ("never",))
    assert (decided.verdict, decided.because, decided.expires_at) == ("deny", ("never",), None)
    assert (answer.sealed, grants.adapters.asked) == (None, [])


async def test_the_same_call_again_waits_in_the_same_place(grants: World) -> None:
    first = await grants.ask("delete")
    async with grants.unchanged():
        again = await grants.ask("delete")
    assert again == first


async def test_the_same_call_twice_at_once_makes_one_request(grants: World) -> None:
    one, two = await asyncio.gather(grants.ask("delete"), grants.ask("delete"))
    assert one.access.grant_id == two.access.grant_id
    assert len(await grants.events(AccessRequested)) == 1


async def test_a_request_that_waited_its_day_out_is_not_waited_on_again(grants: World) -> None:
    first = await grants.ask("delete")
    grants.clock.on(DAY)
    second = await grants.ask("delete")
    assert second.access.status == "pending"
    assert second.access.grant_id != first.access.grant_id


@pytest.mark.parametrize(
    "other",
    [
        {"scopes": ("read", "delete")},
        {"command": ("aws", "s3", "ls", "s3://b")},
        {"command_digest": "e" * 64},
        {"target": "prod"},
    ],
    ids=lambda other: next(iter(other)),
)
async def test_another_call_makes_a_request_of_its_own(
    grants: World, other: dict[str, object]
) -> None:
    first = await grants.ask("delete")
    second = await grants.ask("delete", **other)
    assert second.access.grant_id != first.access.grant_id
    assert second.access.queue_position == 2
    assert len(await grants.events(AccessRequested)) == 2


async def test_a_live_grant_is_used_again_and_asks_nobody(grants: World) -> None:
    await grants.policy(ALLOW)
    first = await grants.ask("read", "write")
    second = await grants.ask("write", command=("aws", "s3", "cp"))
    assert second.access.grant_id == first.access.grant_id
    assert len(await grants.rows(repo.GRANT)) == 1
    assert len(await grants.events(GrantDecided)) == 1


async def test_a_grant_covers_no_scope_that_it_lacks(grants: World) -> None:
    await grants.given("read")
    answer = await grants.ask("read", "delete")
    assert answer.access.status == "pending"
    assert grants.adapters.asked == []


@pytest.mark.parametrize("giver", ["policy", "person"])
async def test_a_new_denial_outranks_a_live_grant(grants: World, giver: str) -> None:
    if giver == "policy":
        await grants.policy(ALLOW)
        await grants.ask()
    else:
        await grants.given()
    asked = len(grants.adapters.asked)
    await grants.policy(DENY)
    answer = await grants.ask()
    assert (answer.access.status, answer.access.because) == ("denied", ("never",))
    assert len(grants.adapters.asked) == asked


async def test_what_policy_gave_lasts_only_while_policy_would_give_it_again(grants: World) -> None:
    await grants.policy(ALLOW)
    given = await grants.ask()
    await grants.policy(ASK)
    answer = await grants.ask()
    assert (answer.access.status, answer.access.because) == ("pending", ("careful",))
    assert answer.access.grant_id != given.access.grant_id
    assert len(grants.adapters.asked) == 1


async def test_what_a_person_gave_holds_where_policy_asks(grants: World) -> None:
    await grants.policy(ASK)
    grant_id = await grants.given()
    answer = await grants.ask()
    assert (answer.access.status, answer.access.grant_id) == ("active", grant_id)
    assert answer.access.decided_by == "user"
    assert len(await grants.events(AccessRequested)) == 1


@pytest.mark.parametrize(("hours", "status"), [(9, "pending"), (10, "active"), (18, "pending")])
async def test_a_rule_holds_in_its_hours_only(grants: World, hours: int, status: str) -> None:
    await grants.policy(AT_NIGHT)
    grants.clock.on(timedelta(hours=hours))
    answer = await grants.ask()
    assert answer.access.status == status
    assert len(grants.adapters.asked) == (status == "active")


async def test_a_grant_of_the_night_is_no_good_in_the_morning(grants: World) -> None:
    await grants.policy(AT_NIGHT)
    grants.clock.on(timedelta(hours=17, minutes=50))
    assert (await grants.ask()).access.status == "active"
    grants.clock.on(timedelta(minutes=11))
    assert (await grants.ask()).access.status == "pending"
    assert len(grants.adapters.asked) == 1


async def test_an_older_request_does_not_hold_up_what_policy_allows_now(grants: World) -> None:
    waiting = await grants.ask()
    await grants.policy(ALLOW)
    answer = await grants.ask()
    assert answer.access.status == "active"
    assert answer.access.grant_id != waiting.access.grant_id


@pytest.mark.parametrize(
    ("target", "scope", "status"),
    [("prod", "read", "active"), ("prod", "write", "pending"), ("staging", "write", "active")],
)
async def test_a_change_on_prod_always_wants_a_person(
    grants: World, target: str, scope: str, status: str
) -> None:
    await grants.policy(ALLOW)
    answer = await grants.ask(scope, target=target)
    assert answer.access.status == status
    assert ("write on prod always needs a person" in answer.access.why) == (status == "pending")


async def test_so_does_a_read_on_prod_of_a_provider_that_is_not_known_to_narrow(
    grants: World,
) -> None:
    await grants.policy(ALLOW)
    grants.deps.catalog.adopt({}, {}, "")
    answer = await grants.ask("read", target="prod")
    assert answer.access.status == "pending"
    assert "can't be narrowed" in answer.access.why
    assert grants.adapters.asked == []
