"""A person's decision: what it may give, who may take it, and that the first one stands."""

import asyncio
from typing import Any

import pytest
from grants_fixture import DENY, HOUR, MINUTE, OWNER, START, World, opened
from styx_core.contract.grants import RetireTask
from styx_core.contract.grants_events import GrantDecided
from styx_core.errors import AlreadyDecided, Forbidden, Invalid, StyxError, UnknownGrant
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)


def rule(**keys: str) -> str:
    """A rule that asks, with these keys as TOML."""
    lines = [f"{key} = {value}" for key, value in keys.items()]
    return "\n".join(["[[rule]]", 'id = "strict"', 'effect = "ask"', *lines]) + "\n"


async def test_a_yes_makes_the_request_a_grant_with_its_evidence(grants: World) -> None:
    asked = await grants.ask("delete")
    grants.clock.on(10 * MINUTE)
    command = await grants.choose(asked.access.grant_id, reason="go ahead")
    answer = await grants.say(command)
    (told,) = await grants.events(GrantDecided)
    (approval,) = await grants.rows(repo.APPROVAL)
    assert (answer.status, answer.decided_by) == ("active", "user")
    assert answer.expires_at == told.expires_at == START + 10 * MINUTE + HOUR
    assert (told.actor, told.verdict, told.why) == (OWNER, "approve", "owner: go ahead")
    assert told.signature == approval.signature == command.signature
    assert told.payload == approval.payload
    assert grants.adapters.asked == []


async def test_a_no_is_final_and_issues_nothing(grants: World) -> None:
    asked = await grants.ask("delete")
    answer = await grants.decide(asked.access.grant_id, "deny", reason="not today")
    (told,) = await grants.events(GrantDecided)
    assert (answer.status, answer.expires_at) == ("denied", None)
    assert (told.verdict, told.why) == ("deny", "owner: not today")
    await grants.refused(AlreadyDecided, await grants.choose(asked.access.grant_id))
    assert (await grants.ask("delete")).access.grant_id != asked.access.grant_id


async def test_a_yes_can_give_fewer_scopes_and_a_shorter_time(grants: World) -> None:
    asked = await grants.say(grants.ahead("read", "write", "delete", duration="8h"))
    answer = await grants.decide(asked.grant_id, scopes=("read",), duration="15m")
    (told,) = await grants.events(GrantDecided)
    assert answer.scopes == told.scopes == ("read",)
    assert answer.expires_at == START + 15 * MINUTE
    assert (await grants.ask("write")).access.status == "pending"
    await grants.ask("read")
    assert grants.adapters.asked[0].scopes == ("read",)


async def test_a_rule_s_limit_binds_what_a_person_gives(grants: World) -> None:
    await grants.policy(rule(max_seconds="600"))
    asked = await grants.ask("delete")
    answer = await grants.decide(asked.access.grant_id, duration="always")
    assert answer.expires_at == START + 10 * MINUTE


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_it_cannot_give_more_than_was_asked(grants: World, verdict: str) -> None:
    asked = await grants.ask("read")
    wider = await grants.choose(asked.access.grant_id, verdict, scopes=("read", "delete"))
    assert "delete was not asked for" in await grants.refused(Invalid, wider)


async def test_once_is_only_for_a_request_that_names_its_command(grants: World) -> None:
    asked = await grants.say(grants.ahead("delete"))
    once = await grants.choose(asked.grant_id, duration="once")
    assert "this request names none" in await grants.refused(Invalid, once)
    assert (await grants.decide(asked.grant_id, duration="15m")).status == "active"


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"approvers": '["lead"]'}, "lets only lead approve"),
        ({"approvers": '["role:security"]'}, "lets only role:security approve"),
        ({"approvers": '["lead"]', "quorum": "2"}, "nobody can approve this: .*fewer approvers"),
    ],
    ids=["by-name", "by-role", "unapprovable"],
)
async def test_a_rule_says_who_may_approve(grants: World, limits: dict[str, str], why: str) -> None:
    await grants.policy(rule(**limits))
    asked = await grants.ask("delete")
    with pytest.raises(Forbidden, match=why):
        async with grants.unchanged():
            await grants.decide(asked.access.grant_id)


@pytest.mark.parametrize("approvers", ['["lead"]', '["role:security"]', '["role:security", "x"]'])
async def test_who_is_named_or_has_the_role_may_approve(grants: World, approvers: str) -> None:
    await grants.approver("lead", "security")
    await grants.policy(rule(approvers=approvers))
    asked = await grants.ask("delete")
    answer = await grants.decide(asked.access.grant_id, person="lead")
    assert answer.status == "active"


@pytest.mark.parametrize(("own", "status"), [("false", None), ("true", "active")])
async def test_a_rule_can_want_another_than_the_agent_s_own_person(
    grants: World, own: str, status: str | None
) -> None:
    await grants.approver("developer")
    await grants.policy(rule(own_agent=own))
    asked = await grants.ask("delete")
    command = await grants.choose(asked.access.grant_id, person="developer")
    if status is None:
        assert "somebody else" in await grants.refused(Forbidden, command)
        command = await grants.choose(asked.access.grant_id)
    assert (await grants.say(command)).status == "active"


async def test_anybody_who_approves_here_may_say_no(grants: World) -> None:
    await grants.policy(rule(approvers='["lead"]', own_agent="false"))
    asked = await grants.ask("delete")
    assert (await grants.decide(asked.access.grant_id, "deny")).status == "denied"


async def test_what_policy_has_come_to_deny_cannot_be_approved_any_more(grants: World) -> None:
    asked = await grants.ask("delete")
    await grants.policy(DENY)
    refusal = await grants.refused(Forbidden, await grants.choose(asked.access.grant_id))
    assert refusal == "nobody can approve this any more: denied by never"
    assert (await grants.decide(asked.access.grant_id, "deny")).status == "denied"


async def test_a_denial_of_one_scope_leaves_the_others_to_give(grants: World) -> None:
    asked = await grants.ask("read", "delete")
    await grants.policy(DENY + '[rule.match]\nscopes = ["delete"]\n')
    await grants.refused(Forbidden, await grants.choose(asked.access.grant_id))
    narrowed = await grants.decide(asked.access.grant_id, scopes=("read",))
    assert (narrowed.status, narrowed.scopes) == ("active", ("read",))


async def test_of_two_decisions_at_once_one_wins_and_the_other_hears_who(grants: World) -> None:
    await grants.approver("lead")
    grant_id = (await grants.ask("delete")).access.grant_id
    yes = await grants.choose(grant_id)
    no = await grants.choose(grant_id, "deny", person="lead")
    answers = await asyncio.gather(grants.say(yes), grants.say(no), return_exceptions=True)
    (won,) = [a for a in answers if not isinstance(a, StyxError)]
    (lost,) = [a for a in answers if isinstance(a, StyxError)]
    (told,) = await grants.events(GrantDecided)
    assert isinstance(lost, AlreadyDecided)
    assert lost.detail.endswith(f"({told.actor})")
    assert won.status == {"approve": "active", "deny": "denied"}[told.verdict]


@pytest.mark.parametrize("end", ["retired", "timed out"])
async def test_a_request_that_is_over_cannot_be_decided(grants: World, end: str) -> None:
    asked = await grants.ask("delete")
    command = await grants.choose(asked.access.grant_id)
    if end == "retired":
        await grants.say(RetireTask(task_id=grants.task))
    else:
        grants.clock.on(24 * HOUR)
    await grants.refused(AlreadyDecided, command)


@pytest.mark.parametrize("choice", [{"grant_id": new_id("grt")}, {"person": "stranger"}])
async def test_an_unknown_grant_or_person_changes_nothing(
    grants: World, choice: dict[str, Any]
) -> None:
    asked = await grants.ask("delete")
    command = await grants.choose(asked.access.grant_id)
    if "person" in choice:
        other, error = command.model_copy(update=choice), Forbidden
    else:
        changed = command.choice.model_copy(update=choice)
        other, error = command.model_copy(update={"choice": changed}), UnknownGrant
    await grants.refused(error, other)
