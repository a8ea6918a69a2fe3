"""Hypothesis strategies for rules and requests: few names, so that rules and requests meet."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from hypothesis import strategies as st
from styx_core.scope import Scope
from styx_grants.policy import Effect, Env, Hours, Match, Origin, Request, Rule

T = TypeVar("T")

PROJECTS = ("web", "api")
PROVIDERS = ("aws", "ssh")
TARGETS = ("t1", "t2", "t3")
AGENTS = ("a1", "a2")
PEOPLE = ("p1", "p2")
WORDS = ("s3", "rm", "ls", "--x", "-f")
APPROVERS = ("p1", "p2", "p3", "role:lead")
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def some(values: Iterable[T]) -> st.SearchStrategy[frozenset[T] | None]:
    """A condition on these values: none, or one or more of them, seldom an empty set."""
    return st.none() | st.none() | st.frozensets(st.sampled_from(list(values)), max_size=3)


hours = st.none() | st.builds(
    Hours,
    st.integers(0, 1439),
    st.integers(0, 1440),
    st.just(frozenset(range(7))) | st.frozensets(st.integers(0, 6)),
)
commands = st.lists(st.sampled_from(WORDS), max_size=5).map(tuple)
patterns = st.lists(st.sampled_from((*WORDS, "*")), min_size=1, max_size=3).map(tuple)

matches = st.builds(
    Match,
    project=some(PROJECTS),
    provider=some(PROVIDERS),
    env=some(Env),
    target=some(TARGETS),
    scopes=some(Scope),
    agent=some(AGENTS),
    person=some(PEOPLE),
    command=st.none() | patterns,
    hours=hours,
)
loose = st.builds(Match, env=some(Env), scopes=some(Scope))
"""Matches that most requests meet."""

limits = {
    "max_seconds": st.none() | st.integers(1, 9000),
    "approvers": st.none() | st.none() | st.frozensets(st.sampled_from(APPROVERS), max_size=3),
    "quorum": st.just(1) | st.integers(1, 4),
    "own_agent": st.booleans(),
}
rules = st.builds(
    Rule,
    id=st.integers(0, 10**6).map("r{}".format),
    effect=st.sampled_from(Effect),
    match=matches | loose,
    origin=st.sampled_from(Origin),
    **limits,
)
policies = st.lists(rules, max_size=12, unique_by=lambda rule: rule.id)

requests = st.builds(
    Request,
    project=st.sampled_from(PROJECTS),
    provider=st.sampled_from(PROVIDERS),
    env=st.sampled_from(Env),
    target=st.sampled_from(TARGETS),
    scopes=st.frozensets(st.sampled_from(Scope), min_size=1),
    agent=st.sampled_from(AGENTS),
    person=st.sampled_from(PEOPLE),
    command=commands,
    at=st.integers(0, 7 * 1440 - 1).map(lambda minute: MONDAY + timedelta(minutes=minute)),
    narrowable=st.booleans(),
)
