"""What an agent's call may do: its task, asking ahead, looking again, and reporting its end."""

from collections.abc import Callable
from typing import Any

import pytest
from grants_fixture import ALLOW, DENY, HOUR, START, World, opened, target, task
from styx_core.contract.base import Command
from styx_core.contract.grants import AdmitTask, CheckGrant, ReportUse, RetireTask
from styx_core.contract.grants_events import (
    AccessRequested,
    CredentialRevoked,
    GrantDecided,
    GrantEnded,
    TaskAdmitted,
    UseReported,
)
from styx_core.errors import Invalid, NotConnected, Unauthenticated, UnknownGrant, UnknownTarget
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)


def every_command(grants: World, task_id: str, grant_id: str) -> list[Command[Any]]:
    """What a task can say."""
    return [
        grants.call(task_id=task_id),
        grants.ahead(task_id=task_id),
        CheckGrant(task_id=task_id, grant_id=grant_id),
        grants.get(grant_id, task_id=task_id),
        ReportUse(task_id=task_id, exec_id=new_id("exe"), exit_code=0),
    ]


async def test_an_admitted_task_may_ask(grants: World) -> None:
    task_id = new_id("tsk")
    about = {"project_id": grants.project, "agent": "agent", "person": "developer"}
    await grants.say(AdmitTask(task_id=task_id, **about, worktree="w", branch="b"))
    (told,) = await grants.events(TaskAdmitted)
    assert (told.task_id, told.agent, told.person) == (task_id, "agent", "developer")
    assert (await grants.ask(task_id=task_id)).access.status == "pending"


async def test_an_unknown_task_gets_nothing_and_leaves_no_trace(grants: World) -> None:
    grant_id = await grants.given()
    for command in every_command(grants, new_id("tsk"), grant_id):
        assert "start one with `styx run`" in await grants.refused(Unauthenticated, command)


async def test_nor_does_a_task_that_has_ended(grants: World) -> None:
    grant_id = await grants.given(duration="always")
    await grants.say(RetireTask(task_id=grants.task))
    for command in every_command(grants, grants.task, grant_id):
        await grants.refused(Unauthenticated, command)


async def test_a_task_s_end_ends_what_it_waits_for_and_holds_but_no_standing_grant(
    grants: World,
) -> None:
    standing = await grants.given("read", duration="always")
    held = await grants.given("write", duration="task")
    waits = (await grants.ask("delete")).access.grant_id
    used = await grants.ask("write")
    await grants.say(RetireTask(task_id=grants.task))
    states = {row.id: row.state for row in await grants.rows(repo.GRANT)}
    assert states == {standing: "active", held: "expired", waits: "cancelled"}
    ended = {event.grant_id: event.why for event in await grants.events(GrantEnded)}
    assert ended == dict.fromkeys((held, waits), "its task ended")
    (revoked,) = await grants.events(CredentialRevoked)
    assert grants.adapters.revoked() == {revoked.lease_id} == {used.sealed.lease_id}


async def test_a_standing_grant_serves_the_project_s_next_task(grants: World) -> None:
    standing = await grants.given(duration="always")
    other = await grants.add(repo.TASK, **task(grants.project))
    grants.clock.on(1000 * HOUR)
    answer = await grants.ask(task_id=other)
    assert (answer.access.grant_id, answer.access.decided_by) == (standing, "persistent-grant")
    assert answer.access.expires_at is None


async def test_no_other_grant_does(grants: World) -> None:
    await grants.given(duration="task")
    other = await grants.add(repo.TASK, **task(grants.project))
    assert (await grants.ask(task_id=other)).access.status == "pending"
    assert grants.adapters.asked == []


async def test_asking_ahead_waits_says_why_and_mints_nothing(grants: World) -> None:
    asked = await grants.say(grants.ahead("delete", reason="to tidy up"))
    (told,) = await grants.events(AccessRequested)
    assert (asked.status, told.reason) == ("pending", "to tidy up")
    assert told.understood == "asked ahead by the agent"
    await grants.decide(asked.grant_id)
    assert (await grants.ask("delete")).access.grant_id == asked.grant_id


async def test_asking_ahead_for_what_is_held_makes_no_request(grants: World) -> None:
    grant_id = await grants.given("read", "write")
    async with grants.unchanged():
        asked = await grants.say(grants.ahead("write"))
    assert (asked.status, asked.grant_id) == ("active", grant_id)


@pytest.mark.parametrize(("policy", "status"), [(ALLOW, "active"), (DENY, "denied")])
async def test_policy_may_answer_at_once(grants: World, policy: str, status: str) -> None:
    await grants.policy(policy)
    asked = await grants.say(grants.ahead(duration="8h"))
    (told,) = await grants.events(GrantDecided)
    assert (asked.status, asked.because) == (status, told.because)
    assert asked.expires_at == (START + 8 * HOUR if status == "active" else None)
    assert grants.adapters.asked == []


async def test_once_without_its_command_would_fit_none_so_it_cannot_be_asked(
    grants: World,
) -> None:
    await grants.policy(ALLOW)
    refusal = await grants.refused(Invalid, grants.ahead(duration="once"))
    assert refusal.startswith("duration: `once`")


@pytest.mark.parametrize("ask", [World.call, World.ahead], ids=["call", "ahead"])
async def test_a_target_whose_login_has_expired_is_not_asked_for(
    grants: World, ask: Callable[..., Command[Any]]
) -> None:
    old = {**target(grants.project, "old", "staging"), "expired": True}
    await grants.add(repo.TARGET, **old)
    refusal = await grants.refused(NotConnected, ask(grants, target="old"))
    assert "the login of old has expired" in refusal


async def test_asking_ahead_for_an_unknown_target_names_the_way_to_see_them(grants: World) -> None:
    refusal = await grants.refused(UnknownTarget, grants.ahead(target="nowhere"))
    assert "'nowhere'" in refusal
    assert "list_targets" in refusal


async def test_looking_again_tells_the_state_and_changes_nothing(grants: World) -> None:
    asked = await grants.ask("delete")
    look = CheckGrant(task_id=grants.task, grant_id=asked.access.grant_id)
    async with grants.unchanged():
        assert await grants.say(look) == asked.access
    await grants.decide(asked.access.grant_id)
    async with grants.unchanged():
        found = await grants.say(look)
    assert (found.status, found.decided_by, found.queue_position) == ("active", "user", None)


async def test_a_call_s_end_is_recorded_with_its_code(grants: World) -> None:
    grant_id = await grants.given()
    call = grants.call()
    await grants.say(call)
    await grants.say(ReportUse(task_id=grants.task, exec_id=call.exec_id, exit_code=7))
    (told,) = await grants.events(UseReported)
    (use,) = await grants.rows(repo.USE)
    (row,) = await grants.rows(repo.GRANT)
    assert (told.exec_id, told.exit_code, told.grant_id) == (call.exec_id, 7, grant_id)
    assert (use.exit_code, row.state) == (7, "active")
    assert (told.target, grants.adapters.ended) == ("staging", [])


@pytest.mark.parametrize("what", ["unknown", "another task's", "reported before"])
async def test_no_other_end_can_be_reported(grants: World, what: str) -> None:
    await grants.given()
    call = grants.call()
    await grants.say(call)
    report = ReportUse(task_id=grants.task, exec_id=call.exec_id, exit_code=0)
    if what == "unknown":
        report = report.model_copy(update={"exec_id": new_id("exe")})
    elif what == "another task's":
        other = await grants.add(repo.TASK, **task(grants.project))
        report = report.model_copy(update={"task_id": other})
    else:
        await grants.say(report)
    refusal = await grants.refused(UnknownGrant, report)
    assert refusal == "no call with this id is under way in this task"
