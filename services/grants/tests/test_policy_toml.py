"""Policies as TOML: what is written reads back the same; a bad key is named."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_strategies import policies
from styx_core.scope import Scope
from styx_grants.policy import Effect, Env, Hours, Match, Origin, Rule
from styx_grants.policy_toml import PolicyTextError, dumps, loads

WHOLE = """
[[rule]]
id = "nights"
effect = "allow"
max_seconds = 900
approvers = ["role:leads", "p1"]
quorum = 2
own_agent = false
[rule.match]
project = ["web"]
provider = ["aws"]
env = ["staging", "preview"]
target = ["t1"]
scopes = ["read", "delete"]
agent = ["a1"]
person = ["p1"]
command = ["s3", "*"]
hours = { from = "22:00", to = "24:00", days = ["fri"] }

[[rule]]
id = "rest"
effect = "deny"
"""


def one_of(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_a_whole_policy() -> None:
    nights, rest = loads(WHOLE, Origin.TARGET_POLICY)
    assert rest == Rule("rest", Effect.DENY, origin=Origin.TARGET_POLICY)
    assert nights == Rule(
        "nights",
        Effect.ALLOW,
        Match(
            project=one_of("web"),
            provider=one_of("aws"),
            env=frozenset({Env.STAGING, Env.PREVIEW}),
            target=one_of("t1"),
            scopes=frozenset({Scope.READ, Scope.DELETE}),
            agent=one_of("a1"),
            person=one_of("p1"),
            command=("s3", "*"),
            hours=Hours(22 * 60, 24 * 60, frozenset({4})),
        ),
        max_seconds=900,
        approvers=one_of("role:leads", "p1"),
        quorum=2,
        own_agent=False,
        origin=Origin.TARGET_POLICY,
    )


@given(policies)
def test_what_is_written_reads_back_the_same(rules: list[Rule]) -> None:
    bare = tuple(replace(rule, origin=Origin.POLICY) for rule in rules)
    assert loads(dumps(bare)) == bare


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_text_survives(name: str, word: str) -> None:
    rule = Rule("r", Effect.ASK, Match(target=frozenset({name, '\x7f"\\\n'}), command=(word,)))
    assert loads(dumps([rule])) == (rule,)


RULE = '[[rule]]\nid = "r"\neffect = "deny"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[rule]", "the policy is not valid TOML: .*line 1"),
        ("rules = []", "policy: unknown key 'rules'; did you mean rule?"),
        ("rule = 3", "policy, rule: 3 is not a list"),
        ("rule = [3]", "rule 1: 3 is not a table of keys"),
        ('[[rule]]\nid = "r"', r"rule 1 \('r'\): effect is missing"),
        ('[[rule]]\neffect = "deny"', "rule 1: id is missing"),
        (RULE + RULE, "two rules have the id r"),
        (
            '[[rule]]\nid = "r"\neffect = "permit"',
            "'permit' is not one of allow, ask, deny",
        ),
        (RULE + "max_second = 3", "unknown key 'max_second'; did you mean max_seconds?"),
        (RULE + "zzz = 3", "unknown key 'zzz'; use id, effect"),
        (RULE + 'origin = "target-policy"', "unknown key 'origin'"),
        (RULE + "max_seconds = 0", "max_seconds is 0, use 1 or more"),
        (RULE + "quorum = true", "quorum: True is not a whole number"),
        (RULE + "quorum = 1.0", "quorum: 1.0 is not a whole number"),
        (RULE + 'own_agent = "no"', "own_agent: 'no' is not true or false"),
        (RULE + 'approvers = "p1"', "approvers: 'p1' is not a list"),
        (RULE + "approvers = [1]", "approvers: 1 is not a text in quotes"),
        (RULE + 'match = { env = ["live"] }', "match, env: 'live' is not one of prod, staging"),
        (RULE + 'match = { scope = ["read"] }', "match: unknown key 'scope'; did you mean scopes?"),
        (RULE + "match = { command = [] }", "match: command must be a tuple of one or more words"),
        (RULE + 'match = { hours = { from = "9:00", to = "10:00" } }', "'9:00' is not a UTC time"),
        (RULE + 'match = { hours = { from = "25:00", to = "10:00" } }', "not minutes of a day"),
        (RULE + 'match = { hours = { from = "09:00" } }', "hours: give both from and to"),
        (
            RULE + 'match = { hours = { from = "09:00", to = "10:00", days = ["Mon"] } }',
            "'Mon' is not one of mon, tue",
        ),
    ],
)
def test_a_bad_policy_is_refused_by_name(text: str, message: str) -> None:
    with pytest.raises(PolicyTextError, match=message):
        loads(text)
