"""Finds rules that can never match, or match and never change a decision. Pure.

Sound, not complete: a rule that is named here can go without changing any decision (but for whom
an answer names). A rule that is not named may still be useless.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from styx_core.scope import EVERY, Scope

from styx_grants.policy_index import Index
from styx_grants.policy_match import leads
from styx_grants.policy_terms import Effect, Env, Match, Request, Rule

_NAMED = ("project", "provider", "env", "target", "agent", "person")
_SETS = (*_NAMED, "scopes")
_CAUTION = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}
_NO_NAME = "\0"
"""Stands for a name that no rule mentions."""


class Finding(NamedTuple):
    """A rule that does nothing, and why."""

    rule: str
    reason: str


def dead_rules(rules: Iterable[Rule]) -> tuple[Finding, ...]:
    """The rules that never decide anything, by id. Dropping all of them changes no decision."""
    listed = sorted(rules, key=lambda rule: rule.id)
    reasons = {rule.id: _never_matches(rule.match) or _always_mfa(rule) for rule in listed}
    live = [rule for rule in listed if reasons[rule.id] is None]
    cautious = Index([rule for rule in live if rule.effect != Effect.ALLOW])
    for rule in live:
        over = [filed[0] for filed in cautious.candidates(_sample(rule.match))]
        shadows = sorted(other.id for other in over if _shadows(other, rule))
        if shadows:
            reasons[rule.id] = f"{shadows[0]} matches whenever it does, and is more cautious"
    return tuple(Finding(rule, reason) for rule, reason in reasons.items() if reason)


def _never_matches(match: Match) -> str | None:
    for name in _SETS:
        if getattr(match, name) == frozenset():
            return f"{name} is an empty set, so it never matches"
    if match.hours is not None and match.hours.start == match.hours.end:
        return "its hours end when they start, so it never matches"
    if match.hours is not None and not match.hours.days:
        return "its hours name no day, so it never matches"
    return None


def _bounds(rule: Rule) -> bool:
    """Whether the rule limits what it touches."""
    limits = (rule.max_seconds, rule.approvers, rule.quorum, rule.own_agent)
    return limits != (None, None, 1, True)


def _always_mfa(rule: Rule) -> str | None:
    changes_prod = (
        rule.effect == Effect.ALLOW
        and rule.match.env == frozenset({Env.PROD})
        and rule.match.scopes is not None
        and Scope.READ not in rule.match.scopes
    )
    if changes_prod and not _bounds(rule):
        return "it allows only changes on prod, which always need a person's approval with MFA"
    return None


def _sample(match: Match) -> Request:
    """A request that the rule's names match. It names no command, so that all cautious rules on
    these names are found for it."""
    project, provider, env, target, agent, person = (
        min(names) if (names := getattr(match, field)) else _NO_NAME for field in _NAMED
    )
    return Request(
        project=project,
        provider=provider,
        env=Env.PROD if env == _NO_NAME else Env(env),
        target=target,
        scopes=EVERY,
        agent=agent,
        person=person,
        command=(),
        at=datetime(2000, 1, 1, tzinfo=UTC),
        narrowable=True,
    )


def _shadows(over: Rule, rule: Rule) -> bool:
    """Whether `over` decides whenever the rule matches, so that the rule never does."""
    if over.id == rule.id or _CAUTION[over.effect] < _CAUTION[rule.effect]:
        return False
    if over.effect == rule.effect and over.id > rule.id and _covers(rule, over):
        return False  # the same match twice: one of them stays
    if over.effect != Effect.DENY and (over.effect == rule.effect or _bounds(rule)):
        return False  # an ask leaves the rule's limits, and another ask's name, in the answer
    return _covers(over, rule)


def _covers(over: Rule, rule: Rule) -> bool:
    """Whether `over` touches every request that the rule touches, with its full effect."""
    wide, narrow = over.match, rule.match
    pairs: Sequence[tuple[frozenset[str] | None, frozenset[str] | None]] = [
        (getattr(wide, name), getattr(narrow, name)) for name in _SETS
    ]
    if not all(one is None or (two is not None and two <= one) for one, two in pairs):
        return False
    if wide.hours is not None and wide.hours != narrow.hours:
        return False
    return wide.command is None or _covers_command(over, rule)


def _covers_command(over: Rule, rule: Rule) -> bool:
    """Only an allow matches its command word by word; in doubt, an ask or a deny matches more."""
    pattern, words = over.match.command, rule.match.command
    return (
        rule.effect == Effect.ALLOW
        and pattern is not None
        and words is not None
        and leads(pattern, words)
    )
