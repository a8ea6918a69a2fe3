"""Rules that do nothing are named, with the reason; dropping them changes no decision."""

import pytest
from hypothesis import given, settings
from policy_strategies import policies, requests
from styx_core.scope import Scope
from styx_grants.policy import Effect, Env, Hours, Match, Policy, Request, Rule
from styx_grants.policy_lint import Finding, dead_rules

CHANGES = frozenset({Scope.WRITE, Scope.DELETE})
PROD = frozenset({Env.PROD})


@settings(max_examples=200)
@given(policies, requests)
def test_dropping_all_dead_rules_changes_no_decision(rules: list[Rule], request: Request) -> None:
    dead = {finding.rule for finding in dead_rules(rules)}
    with_all = Policy.compile(rules).evaluate(request)
    without = Policy.compile(rule for rule in rules if rule.id not in dead).evaluate(request)
    assert without._replace(because=(), why="", decided_by=with_all.decided_by) == (
        with_all._replace(because=(), why="")
    )


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (Rule("r", Effect.DENY, Match(target=frozenset())), "target is an empty set"),
        (Rule("r", Effect.DENY, Match(scopes=frozenset())), "scopes is an empty set"),
        (Rule("r", Effect.DENY, Match(hours=Hours(60, 60))), "end when they start"),
        (Rule("r", Effect.DENY, Match(hours=Hours(0, 60, frozenset()))), "name no day"),
        (Rule("r", Effect.ALLOW, Match(env=PROD, scopes=CHANGES)), "only changes on prod"),
    ],
)
def test_a_rule_that_cant_do_anything(rule: Rule, reason: str) -> None:
    (finding,) = dead_rules([rule])
    assert finding.rule == "r"
    assert reason in finding.reason


def test_a_rule_that_a_wider_and_more_cautious_one_covers() -> None:
    staging = frozenset({Env.STAGING})
    rules = [
        Rule("allow-rm", Effect.ALLOW, Match(env=staging, command=("s3", "rm"))),
        Rule("deny-s3", Effect.DENY, Match(env=staging, command=("s3",))),
        Rule("deny-s3-too", Effect.DENY, Match(env=staging, command=("s3",))),
        Rule("deny-elsewhere", Effect.DENY, Match(env=PROD, command=("s3",))),
        Rule("ask", Effect.ASK, Match(env=staging)),
        Rule("allow-short", Effect.ALLOW, Match(env=staging), max_seconds=60),
        Rule("allow-plain", Effect.ALLOW, Match(env=staging)),
    ]
    covered = "matches whenever it does, and is more cautious"
    assert dead_rules(rules) == (
        Finding("allow-plain", f"ask {covered}"),
        Finding("allow-rm", f"ask {covered}"),
    )
    assert dead_rules(rules[1:3]) == ()
    wide = [Rule("no", Effect.DENY, Match(env=staging)), rules[1], rules[4]]
    assert [finding.rule for finding in dead_rules(wide)] == ["ask", "deny-s3"]
    twins = [Rule("one", Effect.DENY), Rule("two", Effect.DENY)]
    assert [finding.rule for finding in dead_rules(twins)] == ["two"]


def test_a_useful_policy_has_no_dead_rule() -> None:
    rules = [
        Rule("reads", Effect.ALLOW, Match(scopes=frozenset({Scope.READ}))),
        Rule("prod", Effect.ASK, Match(env=PROD)),
        Rule("prod-limit", Effect.ALLOW, Match(env=PROD, scopes=CHANGES), max_seconds=900),
    ]
    assert dead_rules(rules) == ()
