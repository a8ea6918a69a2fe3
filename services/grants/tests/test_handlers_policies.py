"""Rules tried before they are put: the same answers as in earnest, and nothing is changed."""

from datetime import timedelta
from typing import Any

import pytest
from grants_fixture import ALLOW, ASK, DAY, DENY, World, opened
from styx_core.contract.grants import ListGrants
from styx_core.contract.grants_policies import ReplayPolicy, SimulateCall, SuggestRules
from styx_core.errors import Invalid, UnknownTarget
from styx_core.ids import new_id

grants = pytest.fixture(opened)

LOOK = {"target": "staging", "scopes": ("read",), "command": ("aws", "s3", "ls")}


def call(grants: World, **over: Any) -> SimulateCall:
    """A call that nobody makes: a look at staging, if not told otherwise."""
    who = {"project_id": grants.project, "agent": "agent", "person": "developer"}
    return SimulateCall(**{**who, **LOOK, **over})


def draft(grants: World, toml: str, days: int = 30) -> ReplayPolicy:
    return ReplayPolicy(project_id=grants.project, toml=toml, days=days)


async def test_a_call_is_tried_on_the_rules_in_force_or_on_a_draft(grants: World) -> None:
    async with grants.unchanged():
        assert (await grants.say(call(grants))).effect == "ask"
        said = await grants.say(call(grants, toml=DENY))
        assert (said.effect, said.because) == ("deny", ("never",))
        said = await grants.say(call(grants, toml=ALLOW))
        assert (said.effect, said.because, said.mfa) == ("allow", ("all",), False)
    await grants.policy(ALLOW)
    assert (await grants.say(call(grants))).effect == "allow"


@pytest.mark.parametrize("scope", ["write", "delete"])
async def test_no_draft_waives_what_a_person_must_decide(grants: World, scope: str) -> None:
    said = await grants.say(call(grants, toml=ALLOW, target="prod", scopes=(scope,)))
    assert (said.effect, said.mfa) == ("ask", True)


async def test_what_is_tried_is_what_happens(grants: World) -> None:
    for toml in (ALLOW, ASK, DENY):
        await grants.policy(toml)
        for target, scope in (("staging", "read"), ("prod", "read"), ("prod", "delete")):
            said = await grants.say(call(grants, target=target, scopes=(scope,)))
            digest = f"{toml}{target}{scope}".encode().hex()[:64]
            done = await grants.ask(scope, target=target, command_digest=digest)
            became = {"allow": "active", "ask": "pending", "deny": "denied"}[said.effect]
            assert (done.access.status, done.access.why) == (became, said.why)
            if done.access.status == "active":
                grants.clock.on(2 * DAY)


async def test_a_rule_s_hours_are_those_of_the_time_that_is_asked_for(grants: World) -> None:
    toml = ALLOW + '[rule.match]\nhours = { from = "09:00", to = "17:00", days = ["mon"] }\n'
    monday = grants.clock().replace(hour=10, minute=0)
    said = await grants.say(call(grants, toml=toml, at=monday))
    night = await grants.say(call(grants, toml=toml, at=monday.replace(hour=3)))
    assert (said.effect, night.effect) == ("allow", "ask")


@pytest.mark.parametrize("toml", ["[[rule", ALLOW + ALLOW, ALLOW + ASK])
async def test_a_draft_with_a_fault_is_named_as_when_it_is_put(grants: World, toml: str) -> None:
    for command in (call(grants, toml=toml), draft(grants, toml)):
        assert (await grants.refused(Invalid, command)).startswith("policy: ")


async def test_another_project_s_target_is_an_unknown_one(grants: World) -> None:
    await grants.refused(UnknownTarget, call(grants, target="nowhere"))
    await grants.refused(UnknownTarget, call(grants, project_id=new_id("prj")))


async def test_a_draft_is_replayed_over_what_was_asked(grants: World) -> None:
    await grants.ask("read")
    denied = (await grants.ask("delete", target="prod")).access.grant_id
    await grants.decide(denied, "deny")
    async with grants.unchanged():
        said = await grants.say(draft(grants, ALLOW))
        assert (said.requests, said.whole) == (2, True)
        assert said.more == {"allow": 1, "ask": 0, "deny": 0}
        (one,) = said.changed
        assert (one.was, one.would_be, one.because) == ("ask", "allow", ("all",))
        assert (one.agent, one.person, one.target) == ("agent", "developer", "staging")
        assert one.command == ("aws", "s3", "ls")
        said = await grants.say(draft(grants, DENY))
        assert said.more == {"allow": 0, "ask": 0, "deny": 2}
        assert said.changed[0].grant_id == denied, "the newest first"
        assert (await grants.say(draft(grants, ASK))).changed == ()


async def test_only_the_days_that_are_asked_for_and_this_project_count(grants: World) -> None:
    await grants.ask("read")
    grants.clock.on(timedelta(days=3))
    assert (await grants.say(draft(grants, ALLOW, days=2))).requests == 0
    assert (await grants.say(draft(grants, ALLOW, days=4))).requests == 1
    other = ReplayPolicy(project_id=new_id("prj"), toml=ALLOW)
    assert (await grants.say(other)).requests == 0
    assert len((await grants.say(ListGrants())).grants) == 1


async def test_rules_are_suggested_from_what_was_approved_alike(grants: World) -> None:
    for _ in range(5):
        asked = (await grants.ask("read")).access
        await grants.decide(asked.grant_id, "approve", duration="15m")
        grants.clock.on(DAY)
    command = SuggestRules(project_id=grants.project, days=30)
    async with grants.unchanged():
        said = await grants.say(command)
    (rule,) = said.rules
    assert (said.requests, rule.spared) == (5, 5)
    assert "approved 5 times by owner" in rule.reason
    assert (await grants.say(call(grants, toml=rule.toml))).because == (rule.id,)
    other = await grants.say(call(grants, toml=rule.toml, command=("aws", "s3", "cp")))
    assert other.effect == "ask"
    assert (await grants.say(draft(grants, rule.toml))).more["allow"] == 5
    await grants.policy(rule.toml)
    assert (await grants.say(command)).rules == ()
    assert (await grants.say(SuggestRules(project_id=new_id("prj")))).rules == ()


async def test_a_target_of_another_provider_is_not_reached_by_the_tool(grants: World) -> None:
    await grants.refused(UnknownTarget, call(grants, provider="ssh"))
    assert (await grants.say(call(grants, provider="aws", surface="s3"))).effect == "ask"
