"""A grant's bare credential: for who holds the grant, while it lives and policy would give it."""

from datetime import timedelta

import pytest
from grants_fixture import ALLOW, ASK, DENY, HOUR, MINUTE, World, opened, target, task
from styx_core.contract.grants import CheckGrant, RetireTask, RevokeGrant
from styx_core.contract.grants_events import AccessRequested, CredentialIssued, GrantDecided
from styx_core.errors import GrantOver, NotConnected, UnknownGrant
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)

LISTS = """[[rule]]
id = "lists"
effect = "allow"
[rule.match]
command = ["s3", "ls"]
"""
NO_REMOVING = """[[rule]]
id = "keep"
effect = "deny"
[rule.match]
command = ["s3", "rm"]
"""


async def test_of_a_live_grant_it_is_recorded_and_issued(grants: World) -> None:
    grant_id = await grants.given("read", "write")
    command = grants.get(grant_id)
    answer = await grants.say(command)
    (issued,) = grants.streamed(CredentialIssued)
    (asked,) = grants.adapters.asked
    assert grants.opens(answer, command.exec_id)
    assert (issued.lease_id, issued.grant_id) == (answer.sealed.lease_id, grant_id)
    assert issued.scopes == asked.scopes == ("read", "write")
    assert (asked.surface, asked.command) == (None, ())


@pytest.mark.parametrize("end", ["pending", "denied", "revoked", "expired"])
async def test_of_a_grant_that_is_not_alive_it_is_refused(grants: World, end: str) -> None:
    grant_id = (await grants.ask()).access.grant_id
    if end == "denied":
        await grants.decide(grant_id, "deny")
    if end in ("revoked", "expired"):
        await grants.decide(grant_id)
    if end == "revoked":
        await grants.say(RevokeGrant(grant_id=grant_id, person="owner"))
    if end == "expired":
        grants.clock.on(HOUR)
    refusal = await grants.refused(GrantOver, grants.get(grant_id))
    assert refusal == f"this grant is {end}; ask again with request_access"


async def test_time_counts_before_any_sweep(grants: World) -> None:
    grant_id = await grants.given(duration="15m")
    grants.clock.on(15 * MINUTE - timedelta(seconds=1))
    await grants.say(grants.get(grant_id))
    grants.clock.on(timedelta(seconds=1))
    await grants.refused(GrantOver, grants.get(grant_id))
    assert (await grants.rows(repo.GRANT))[0].state == "active"


async def test_policy_that_denies_everything_denies_it(grants: World) -> None:
    grant_id = await grants.given()
    await grants.policy(DENY)
    answer = await grants.say(grants.get(grant_id))
    told = (await grants.events(GrantDecided))[-1]
    assert (answer.access.status, answer.sealed) == ("denied", None)
    assert (told.grant_id, told.verdict) == (answer.access.grant_id, "deny")
    assert grants.adapters.asked == []


async def test_given_for_one_command_by_policy_it_is_asked_for_as_any_command(
    grants: World,
) -> None:
    await grants.policy(LISTS)
    given = await grants.ask()
    assert given.access.status == "active"
    answer = await grants.say(grants.get(given.access.grant_id))
    (told,) = await grants.events(AccessRequested)
    assert (answer.access.status, answer.sealed) == ("pending", None)
    assert told.grant_id == answer.access.grant_id != given.access.grant_id
    assert told.understood == "the credential itself, for any command"
    assert len(grants.adapters.asked) == 1


async def test_a_denial_of_one_command_holds_for_what_can_do_any_command(grants: World) -> None:
    await grants.policy(ALLOW + NO_REMOVING)
    given = await grants.ask()
    assert given.access.status == "active"
    answer = await grants.say(grants.get(given.access.grant_id))
    assert answer.sealed is None
    assert answer.access.because == ("keep",)


async def test_given_by_a_person_it_holds_where_policy_asks(grants: World) -> None:
    await grants.policy(ASK)
    grant_id = await grants.given()
    answer = await grants.say(grants.get(grant_id))
    assert answer.access.status == "active"
    assert answer.sealed is not None


@pytest.mark.parametrize("whose", ["another task's", "another project's standing"])
async def test_what_is_not_its_own_looks_like_what_does_not_exist(
    grants: World, whose: str
) -> None:
    if whose == "another task's":
        grant_id = await grants.given()
        stranger = await grants.add(repo.TASK, **task(grants.project))
    else:
        grant_id = await grants.given(duration="always")
        stranger = await grants.add(repo.TASK, **task(new_id("prj")))
    unknown = new_id("grt")
    for ask in (
        lambda which: grants.get(which, task_id=stranger),
        lambda which: CheckGrant(task_id=stranger, grant_id=which),
    ):
        foreign = await grants.refused(UnknownGrant, ask(grant_id))
        missing = await grants.refused(UnknownGrant, ask(unknown))
        assert foreign.replace(grant_id, "…") == missing.replace(unknown, "…")


async def test_a_standing_grant_is_the_whole_project_s(grants: World) -> None:
    grant_id = await grants.given(duration="always")
    await grants.say(RetireTask(task_id=grants.task))
    other = await grants.add(repo.TASK, **task(grants.project))
    answer = await grants.say(grants.get(grant_id, task_id=other))
    assert (answer.access.status, answer.access.decided_by) == ("active", "persistent-grant")
    (issued,) = await grants.events(CredentialIssued)
    assert issued.task_id == other


async def test_of_a_target_whose_login_has_expired_there_is_none(grants: World) -> None:
    grant_id = await grants.given()
    values = {**target(grants.project, "again", "staging"), "expired": True}
    again = await grants.add(repo.TARGET, **values)
    await grants.deps.db.write(lambda c: repo.set_grant(c, grant_id, target_id=again))
    assert "reconnect it" in await grants.refused(NotConnected, grants.get(grant_id))
