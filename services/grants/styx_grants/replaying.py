"""A draft of rules over what was asked before: what it would have decided differently. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from styx_grants.machine import State
from styx_grants.policy import Policy
from styx_grants.policy_terms import DecidedBy, Decision, Effect, Request

BY_RULES: Final = frozenset({DecidedBy.POLICY, DecidedBy.TARGET_POLICY})


@dataclass(frozen=True)
class Past:
    """A request as it was put, and what the rules of its time said."""

    id: str
    request: Request
    was: Effect


@dataclass(frozen=True)
class Difference:
    """A past request that would be decided differently."""

    past: Past
    now: Decision


def said_then(state: str, decided_by: str | None) -> Effect:
    """What rules had said, read off what became of the request.

    A person's decision, or none, means that they had asked.
    """
    if decided_by not in BY_RULES:
        return Effect.ASK
    return Effect.DENY if state == State.DENIED else Effect.ALLOW


def replay(draft: Policy, past: Iterable[Past]) -> tuple[Counter[Effect], list[Difference]]:
    """How many would have become what they were not, and which, in their order."""
    more: Counter[Effect] = Counter()
    changed = []
    for each in past:
        decision = draft.evaluate(each.request)
        if decision.effect is not each.was:
            more[decision.effect] += 1
            changed.append(Difference(each, decision))
    return more, changed
