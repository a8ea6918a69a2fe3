"""The laws of the policy, as properties, and the engine against the plain second implementation."""

from dataclasses import fields, replace
from itertools import chain, combinations

import policy_reference as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from policy_strategies import MONDAY, policies, requests, rules
from styx_core.scope import EVERY, Scope
from styx_grants.policy import (
    Decision,
    Effect,
    Env,
    Match,
    Policy,
    Request,
    Rule,
    nearest_allowed,
)

CAUTION = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}


def decide(rules: list[Rule], request: Request) -> Decision:
    return Policy.compile(rules).evaluate(request)


def request(**changes: object) -> Request:
    plain: dict[str, object] = {
        "project": "web",
        "provider": "aws",
        "env": Env.STAGING,
        "target": "t1",
        "scopes": frozenset({Scope.READ}),
        "agent": "a1",
        "person": "p1",
        "command": (),
        "at": MONDAY,
        "narrowable": True,
    }
    return Request(**(plain | changes))  # type: ignore[arg-type]


@settings(max_examples=300)
@given(policies, requests)
def test_agrees_with_the_reference(rules: list[Rule], request: Request) -> None:
    ours, theirs = decide(rules, request), reference.decide(rules, request)
    for field in fields(theirs):
        assert getattr(ours, field.name) == getattr(theirs, field.name), field.name


@given(policies, requests, st.randoms(use_true_random=False))
def test_order_never_matters(rules: list[Rule], request: Request, random: object) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert decide(rules, request) == decide(shuffled, request)


@given(policies, requests, rules)
def test_a_rule_more_never_loosens_unless_it_allows(
    rules: list[Rule], request: Request, more: Rule
) -> None:
    more = replace(more, id="more")
    before, after = decide(rules, request), decide([*rules, more], request)
    if more.effect is not Effect.ALLOW:
        assert CAUTION[after.effect] >= CAUTION[before.effect]
    if Effect.DENY in (before.effect, after.effect):
        return
    assert (after.max_seconds or 10**9) <= (before.max_seconds or 10**9)
    assert after.quorum >= before.quorum
    assert before.own_agent or not after.own_agent
    assert before.approvable or not after.approvable
    if before.approvers is not None:
        assert after.approvers is not None
        assert after.approvers <= before.approvers


@given(policies, requests)
def test_no_rule_waives_mfa_on_prod(rules: list[Rule], request: Request) -> None:
    risky = replace(request, env=Env.PROD)
    decision = decide([*rules, Rule("all", Effect.ALLOW)], risky)
    if risky.scopes == {Scope.READ} and risky.narrowable:
        return
    assert decision.effect in (Effect.ASK, Effect.DENY)
    assert decision.mfa is (decision.effect is Effect.ASK)


@given(requests)
def test_silence_asks_a_person(request: Request) -> None:
    decision = decide([], request)
    assert (decision.effect, decision.because, decision.decided_by) == (Effect.ASK, (), "user")


@given(policies, requests)
def test_an_allow_covers_every_scope(rules: list[Rule], request: Request) -> None:
    decision = decide(rules, request)
    if decision.effect is not Effect.ALLOW:
        return
    named = [rule for rule in rules if rule.id in decision.because]
    assert request.scopes <= frozenset().union(*(rule.match.scopes or EVERY for rule in named))
    assert {rule.effect for rule in named} == {Effect.ALLOW}


@given(policies, requests)
def test_the_answer_names_what_decided(rules: list[Rule], request: Request) -> None:
    decision = decide(rules, request)
    assert all(name in decision.why for name in decision.because)
    assert "\n" not in decision.why
    if decision.effect is not Effect.ALLOW and decision.because:
        without = [rule for rule in rules if rule.id not in decision.because]
        assert CAUTION[decide(without, request).effect] <= CAUTION[decision.effect]


@given(policies, requests)
def test_limits_that_nobody_meets_stay_closed(rules: list[Rule], request: Request) -> None:
    decision = decide(rules, request)
    if decision.effect is not Effect.ASK or decision.approvable:
        return
    assert "nobody can approve it" in decision.why
    for approver in ("p1", "p2", "p3", "role:lead"):
        assert not decision.admits(approver, ["lead"], request.person)


@given(policies, requests)
def test_nearest_allowed_is_the_largest_smaller_request(
    rules: list[Rule], request: Request
) -> None:
    policy = Policy.compile(rules)
    near = nearest_allowed(policy, request)
    sizes = range(1, len(request.scopes))
    smaller = chain.from_iterable(combinations(request.scopes, size) for size in sizes)
    allowed = [
        len(scopes)
        for scopes in smaller
        if reference.decide(rules, replace(request, scopes=frozenset(scopes))).effect == "allow"
    ]
    if near is None:
        assert not allowed
        return
    assert near.scopes < request.scopes
    assert near == replace(request, scopes=near.scopes)
    assert policy.evaluate(near).effect is Effect.ALLOW
    assert len(near.scopes) == max(allowed)


def test_two_rules_of_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two rules have the id same"):
        Policy.compile([Rule("same", Effect.ALLOW), Rule("same", Effect.DENY)])


def test_admits_only_whom_the_decision_names() -> None:
    lead = frozenset({"p2", "role:lead"})
    decision = decide([Rule("r", Effect.ASK, approvers=lead, own_agent=False)], request())
    assert decision.admits("p2", [], "p1")
    assert decision.admits("p9", ["lead"], "p1")
    assert not decision.admits("p9", ["other"], "p1")
    assert not decision.admits("p1", ["lead"], "p1"), "their own agent's"
    assert not decision.admits("role:lead", [], "p1"), "an id that looks like a role"
    assert not decide([Rule("d", Effect.DENY)], request()).admits("p2", [], "p1")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scopes": frozenset()}, "at least one scope"),
        ({"scopes": frozenset({"admin"})}, "'admin' is no Scope; use read, write"),
        ({"env": "production"}, "'production' is no Env; use prod, staging"),
        ({"env": "prod"}, "'prod' is no Env"),
        ({"at": MONDAY.replace(tzinfo=None)}, "aware and in UTC"),
    ],
)
def test_a_request_that_cant_be_understood_is_refused(
    changes: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        request(**changes)


def test_names_that_are_one_text_are_refused() -> None:
    with pytest.raises(TypeError, match="target must be a frozenset"):
        Match(target="web-prod")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="approvers must be a frozenset"):
        Rule("r", Effect.ASK, approvers="p1")  # type: ignore[arg-type]
