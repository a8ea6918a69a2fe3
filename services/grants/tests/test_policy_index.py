"""The index finds every rule that bears on a request, and looks at none whose names differ."""

from dataclasses import replace

from hypothesis import given, settings
from policy_reference import voice
from policy_strategies import MONDAY, policies, requests
from styx_core.scope import EVERY, Scope
from styx_grants.policy import Effect, Env, Match, Policy, Request, Rule
from styx_grants.policy_index import MAX_KEYS, Index

NAMES = ("project", "provider", "env", "target", "agent", "person")


def asks(target: str, *command: str) -> Request:
    return Request(
        "web", "aws", Env.STAGING, target, EVERY, "a1", "p1", command, MONDAY, narrowable=True
    )


@settings(max_examples=150)
@given(policies, requests)
def test_finds_all_that_bear_and_none_of_other_names(rules: list[Rule], request: Request) -> None:
    found = [filed[0] for filed in Index(rules).candidates(request)]
    assert len(found) == len({rule.id for rule in found})
    assert {rule.id for rule in rules if voice(rule, request)} <= {rule.id for rule in found}
    for rule in found:
        for name in NAMES:
            names = getattr(rule.match, name)
            assert names is None or getattr(request, name) in names


def test_touches_only_its_own_rules_among_ten_thousand() -> None:
    rules = [
        Rule(f"r{number}", Effect.ALLOW, Match(target=frozenset({f"t{number}"})))
        for number in range(10_000)
    ]
    found = Index(rules).candidates(asks("t77"))
    assert [filed[0].id for filed in found] == ["r77"]


def test_a_rule_of_many_names_is_found_by_each_and_by_no_other() -> None:
    many = [frozenset(f"{kind}{number}" for number in range(30)) for kind in ("t", "a", "p")]
    rule = Rule("wide", Effect.DENY, Match(target=many[0], agent=many[1], person=many[2]))
    assert MAX_KEYS < 30 * 30
    policy = Policy.compile([rule])
    assert policy.evaluate(asks("t29")).effect is Effect.DENY
    inside = asks("t29")
    for outside in (asks("t30"), replace(inside, agent="a30"), replace(inside, person="p30")):
        assert policy.evaluate(outside).effect is Effect.ASK


def test_other_commands_are_not_looked_at() -> None:
    rules = [
        Rule(f"r{number}", Effect.DENY, Match(command=(f"verb{number}", "rm")))
        for number in range(50)
    ]
    index = Index(rules)
    assert [filed[0].id for filed in index.candidates(asks("t1", "verb7", "rm"))] == ["r7"]
    assert index.candidates(asks("t1", "other")) == []


def test_a_leading_flag_hides_no_verb_from_a_deny() -> None:
    rules = [
        Rule("no-rm", Effect.DENY, Match(command=("s3", "rm"))),
        Rule("ls", Effect.ALLOW, Match(command=("s3", "ls"), scopes=frozenset(Scope))),
    ]
    policy = Policy.compile(rules)
    assert policy.evaluate(asks("t1", "--region", "x", "s3", "rm")).effect is Effect.DENY
    assert policy.evaluate(asks("t1", "s3", "--quiet", "rm")).effect is Effect.DENY
    assert policy.evaluate(asks("t1", "s3", "ls")).effect is Effect.ALLOW
    assert policy.evaluate(asks("t1", "--region", "x", "s3", "ls")).effect is Effect.ASK
    assert policy.evaluate(asks("t1")).because == ("no-rm",), "any command may follow"
