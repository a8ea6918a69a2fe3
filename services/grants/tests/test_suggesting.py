"""Suggested rules: what was approved again and again, and nothing that was not."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import policy_reference as reference
import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_strategies import WORDS, requests
from policy_strategies import rules as any_rules
from styx_core.scope import Scope
from styx_grants import policy_toml
from styx_grants.policy import Effect, Env, Match, Policy, Request, Rule
from styx_grants.policy_lint import dead_rules
from styx_grants.suggesting import LEAST, Judged, Proposal, narrowest, suggest, was_approved

READ, WRITE, DELETE = (frozenset({scope}) for scope in (Scope.READ, Scope.WRITE, Scope.DELETE))
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ODD = ("*", "[REDACTED]", "a\nb", "\u202e", "")

odd = st.lists(st.sampled_from((*WORDS, *ODD)), max_size=3).map(tuple)
asked = st.builds(
    replace, requests, command=odd | st.sampled_from((("s3", "ls"), ("rm", "-f"), ()))
)
FIELDS = ("agent", "person", "target", "provider", "env")


@st.composite
def near(draw: st.DrawFn, one: Request) -> Request:
    """A request that differs a little, or not at all."""
    other = draw(asked)
    changed = draw(st.just(()) | st.lists(st.sampled_from((*FIELDS, "scopes")), max_size=2))
    more = draw(st.sampled_from(((), (), ("ls",), ("-f",))))
    command = draw(st.sampled_from(((*one.command, *more), one.command, one.command[:-1])))
    return replace(one, command=command, **{name: getattr(other, name) for name in changed})


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[Request, bool, int]]:
    """What was asked, what was said to it, and how often: mostly much the same."""
    one = draw(asked)
    times, said = (
        st.integers(LEAST - 1, LEAST + 1),
        st.sampled_from((True, True, True, True, False)),
    )
    return draw(st.lists(st.tuples(st.just(one) | near(one), said, times), min_size=1, max_size=5))


in_forces = st.lists(any_rules, max_size=2, unique_by=lambda rule: rule.id)
"""Few rules, or they would leave nothing to suggest."""


def judged(history: Sequence[tuple[Request, bool, int]]) -> list[Judged]:
    return [
        Judged(request, approved, "p1", 900) for request, approved, n in history for _ in range(n)
    ]


def call(said: str = "s3 ls", /, **over: object) -> Request:
    plain: dict[str, object] = {
        "project": "web",
        "provider": "aws",
        "env": Env.STAGING,
        "target": "t1",
        "scopes": READ,
        "agent": "a1",
        "person": "p1",
        "command": tuple(said.split()),
        "at": NOON,
        "narrowable": True,
    }
    return Request(**(plain | over))  # type: ignore[arg-type]


def yes(request: Request, times: int = LEAST, seconds: int | None = 900) -> list[Judged]:
    return [Judged(request, True, "owner", seconds)] * times


def no(request: Request) -> Judged:
    return Judged(request, False, "owner")


def rules(proposals: Sequence[Proposal]) -> list[Rule]:
    return [each.rule for each in proposals]


@given(histories(), st.data())
def test_what_suggestions_allow_was_approved_of_the_same_agent_and_target(
    history: list[tuple[Request, bool, int]], data: st.DataObject
) -> None:
    found = rules(suggest([], judged(history)))
    request = data.draw(near(history[0][0]))
    same = [
        each
        for each, approved, _ in history
        if approved
        and request.command[: len(each.command)] == each.command
        and all(getattr(request, name) == getattr(each, name) for name in FIELDS)
    ]
    for rule in found:
        if Policy.compile([rule]).evaluate(request).effect is Effect.ALLOW:
            assert any(request.scopes <= each.scopes for each in same)
    if Policy.compile(found).evaluate(request).effect is Effect.ALLOW:
        assert request.scopes <= frozenset().union(*(each.scopes for each in same))


@given(in_forces, histories())
def test_each_has_spared_enough_and_no_law_is_touched(
    in_force: list[Rule], history: list[tuple[Request, bool, int]]
) -> None:
    for each in suggest(in_force, judged(history)):
        assert len(each.spared) >= LEAST
        for spared in each.spared:
            assert reference.decide(in_force, spared.request).effect == "ask"
            assert reference.decide([*in_force, each.rule], spared.request).effect == "allow"
            assert not reference.prod_needs_person(spared.request)


@given(in_forces, histories())
def test_they_can_be_put_beside_the_rules_in_force(
    in_force: list[Rule], history: list[tuple[Request, bool, int]]
) -> None:
    dead = {finding.rule for finding in dead_rules(in_force)}
    living = [rule for rule in in_force if rule.id not in dead]
    found = rules(suggest(living, judged(history)))
    assert policy_toml.loads(policy_toml.dumps(found)) == tuple(found)
    assert dead_rules([*living, *found]) == dead_rules(living)
    Policy.compile([*living, *found])


@given(in_forces, histories())
def test_none_has_a_part_in_allowing_what_was_denied(
    in_force: list[Rule], history: list[tuple[Request, bool, int]]
) -> None:
    found = rules(suggest(in_force, judged(history)))
    policy = Policy.compile([*in_force, *found])
    for request, approved, _ in history:
        said = policy.evaluate(request)
        if not approved and said.effect is Effect.ALLOW:
            assert not {rule.id for rule in found} & {*said.because}


def test_five_identical_approvals_are_a_rule() -> None:
    (found,) = suggest([], yes(call()))
    (rule,) = policy_toml.loads(policy_toml.dumps([found.rule]))
    assert rule == found.rule
    assert (rule.effect, rule.max_seconds) == (Effect.ALLOW, 900)
    assert rule.match == Match(
        provider=frozenset({"aws"}),
        env=frozenset({Env.STAGING}),
        target=frozenset({"t1"}),
        scopes=READ,
        agent=frozenset({"a1"}),
        person=frozenset({"p1"}),
        command=("s3", "ls"),
    )
    assert found.reason == "approved 5 times by owner, 2026-01-05 to 2026-01-05; never denied"
    assert suggest([], yes(call(), LEAST - 1)) == []


@pytest.mark.parametrize(
    "over",
    [
        {"agent": "a2"},
        {"person": "p2"},
        {"target": "t2"},
        {"scopes": READ | WRITE},
        {"command": ("s3", "ls", "s3://b")},
        {"command": ("s3", "ls", "--recursive")},
        {"command": ()},
    ],
)
def test_another_call_s_approvals_don_t_count(over: dict[str, object]) -> None:
    assert suggest([], yes(call(), LEAST - 1) + yes(call(**over), LEAST - 1)) == []


def test_flags_are_part_of_what_was_approved() -> None:
    (found,) = suggest([], yes(call("s3 rm --recursive s3://scratch", scopes=DELETE)))
    policy = Policy.compile([found.rule])
    for command, said in (
        ("s3 rm --recursive s3://scratch", Effect.ALLOW),
        ("s3 rm --recursive s3://scratch --quiet", Effect.ALLOW),
        ("s3 rm --recursive s3://other", Effect.ASK),
        ("s3 rm s3://scratch", Effect.ASK),
        ("--region x s3 rm --recursive s3://scratch", Effect.ASK),
    ):
        assert policy.evaluate(call(command, scopes=DELETE)).effect is said


def test_one_denial_is_enough_to_suggest_nothing() -> None:
    assert suggest([], [*yes(call(), 50), no(call())]) == []
    assert suggest([], [*yes(call()), no(call("s3 ls s3://private"))]) == []
    both = call("s3 cp", scopes=READ | WRITE)
    halves = [yes(call("s3 cp", scopes=each)) for each in (READ, WRITE)]
    assert suggest([], [*halves[0], *halves[1], no(both)]) == [], "not even together"


def test_a_denial_of_something_else_is_none_of_this() -> None:
    others = [call("s3 rb"), call(scopes=READ | WRITE), call(target="t2"), call(person="p2")]
    assert len(suggest([], [*yes(call()), *map(no, others)])) == 1


def test_a_rule_in_force_that_would_complete_a_denied_call_counts() -> None:
    writes = Rule("writes", Effect.ALLOW, Match(scopes=WRITE))
    denied = no(call("s3 cp", scopes=READ | WRITE))
    assert suggest([writes], [*yes(call("s3 cp")), denied]) == []
    assert len(suggest([], [*yes(call("s3 cp")), denied])) == 1


@pytest.mark.parametrize("effect", [Effect.ASK, Effect.DENY, Effect.ALLOW])
def test_where_rules_speak_nothing_is_suggested(effect: Effect) -> None:
    assert suggest([Rule("all", effect)], yes(call())) == []


@pytest.mark.parametrize("scopes", [WRITE, DELETE, frozenset({Scope.DEPLOY}), READ | WRITE])
def test_what_the_laws_keep_for_a_person_stays_theirs(scopes: frozenset[Scope]) -> None:
    assert suggest([], yes(call(env=Env.PROD, scopes=scopes))) == []
    assert suggest([], yes(call(env=Env.PROD, narrowable=False))) == []
    assert len(suggest([], yes(call(env=Env.PROD)))) == 1


@pytest.mark.parametrize("word", [*ODD, "x" * 2001, "a\u200bb", "tok=[REDACTED]"])
def test_a_command_that_isn_t_plain_is_no_rule(word: str) -> None:
    assert narrowest(call(command=("s3", word))) is None


@pytest.mark.parametrize("field", ["agent", "person", "target", "provider"])
def test_a_name_that_hides_something_is_no_rule(field: str) -> None:
    assert narrowest(call(**{field: "a\u202eb"})) is None


def test_a_request_without_a_command_is_for_any_and_so_is_its_rule() -> None:
    (found,) = suggest([], yes(call("")))
    assert found.rule.match.command is None
    assert suggest([], [*yes(call("")), no(call("s3 rb s3://b"))]) == []


@pytest.mark.parametrize(
    ("given", "longest"), [([900, 3600], 900), ([None, 300], 300), ([None], None), ([0], 1)]
)
def test_no_longer_than_the_shortest_approval(given: list[int | None], longest: int) -> None:
    (found,) = suggest([], [each for seconds in given for each in yes(call(), 5, seconds)])
    assert found.rule.max_seconds == longest


def test_a_rule_that_was_taken_is_not_suggested_again_though_it_was_changed() -> None:
    (found,) = suggest([], yes(call()))
    changed = replace(found.rule, match=replace(found.rule.match, target=frozenset({"t9"})))
    assert suggest([changed], yes(call())) == []


def test_those_that_spare_the_most_come_first_and_there_are_not_too_many() -> None:
    given = [each for n in range(30) for each in yes(call(f"s3 ls {n}"), LEAST + n)]
    found = suggest([], given)
    assert [len(each.spared) for each in found] == list(range(LEAST + 29, LEAST + 9, -1))


def test_the_reason_names_who_and_when() -> None:
    later = Judged(replace(call(), at=NOON + timedelta(days=2)), True, "ada", 900)
    (found,) = suggest([], [*yes(call()), later])
    assert found.reason == "approved 6 times by ada, owner, 2026-01-05 to 2026-01-07; never denied"


@pytest.mark.parametrize(
    ("state", "by", "said"),
    [
        ("active", "user", True),
        ("expired", "user", True),
        ("spent", "user", True),
        ("denied", "user", False),
        ("revoked", "user", None),
        ("active", "policy", None),
        ("denied", "policy", None),
        ("pending", None, None),
        ("expired", None, None),
        ("cancelled", None, None),
    ],
)
def test_only_a_person_s_word_counts_while_it_holds(
    state: str, by: str | None, said: bool | None
) -> None:
    assert was_approved(state, by) is said
