"""A draft over the past: it differs where its rules differ, and nowhere else."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_strategies import policies, requests
from styx_grants.policy import Policy
from styx_grants.policy_terms import Effect, Request, Rule
from styx_grants.replaying import Past, replay, said_then


@given(policies, st.lists(requests, max_size=6))
def test_the_rules_in_force_change_nothing_that_they_decided(
    rules: list[Rule], asked: list[Request]
) -> None:
    policy = Policy.compile(rules)
    past = [Past(str(n), r, policy.evaluate(r).effect) for n, r in enumerate(asked)]
    assert replay(policy, past) == ({}, [])


@given(policies, policies, st.lists(requests, max_size=6))
def test_each_difference_is_one_and_is_counted(
    old: list[Rule], new: list[Rule], asked: list[Request]
) -> None:
    before, draft = Policy.compile(old), Policy.compile(new)
    past = [Past(str(n), r, before.evaluate(r).effect) for n, r in enumerate(asked)]
    more, changed = replay(draft, past)
    differing = [p for p in past if draft.evaluate(p.request).effect is not p.was]
    assert [each.past for each in changed] == differing
    assert sum(more.values()) == len(changed)
    for each in changed:
        assert each.now == draft.evaluate(each.past.request)


@given(policies, requests)
def test_a_request_is_judged_at_its_own_time(rules: list[Rule], asked: Request) -> None:
    then = replace(asked, at=datetime(2020, 2, 29, 3, 0, tzinfo=UTC))
    policy = Policy.compile(rules)
    was = policy.evaluate(then).effect
    assert replay(policy, [Past("1", then, was)])[1] == []


@pytest.mark.parametrize(
    ("state", "by", "said"),
    [
        ("active", "policy", Effect.ALLOW),
        ("expired", "policy", Effect.ALLOW),
        ("revoked", "target-policy", Effect.ALLOW),
        ("denied", "policy", Effect.DENY),
        ("denied", "user", Effect.ASK),
        ("active", "user", Effect.ASK),
        ("pending", None, Effect.ASK),
        ("cancelled", None, Effect.ASK),
    ],
)
def test_what_rules_had_said_is_read_off_the_outcome(
    state: str, by: str | None, said: Effect
) -> None:
    assert said_then(state, by) is said
