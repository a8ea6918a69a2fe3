"""Rules that people's own approvals suggest: what they allow anyhow, again and again. Pure.

- Only identical approvals count together: agent, person, target, scopes and whole command.
- A rule says just that in plain values, for the shortest time that was approved. Rules match
  leading words, so more words may follow; they add no scope and no other target.
- It must have spared `LEAST` approvals under the rules in force: where these ask on purpose, and
  where the laws keep a decision for a person, no rule could, so none is suggested.
- It allows nothing that a person denied in that time, not even together with other rules.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from styx_core.printable import printable
from styx_core.secret_names import MARK

from styx_grants import policy_toml
from styx_grants.machine import State
from styx_grants.policy import Policy
from styx_grants.policy_terms import ANY_WORD, DecidedBy, Effect, Match, Request, Rule

LEAST: Final = 5
MOST: Final = 20
MOST_LETTERS: Final = 2000
"""Longest command that a rule is suggested for."""


@dataclass(frozen=True)
class Judged:
    """A request that a person decided. `seconds`: how long they gave it; None for no end."""

    request: Request
    approved: bool
    person: str
    seconds: int | None = None


def was_approved(state: str, decided_by: str | None) -> bool | None:
    """What a person said to a request; None where nobody did, or took their yes back."""
    if decided_by != DecidedBy.USER or state == State.REVOKED:
        return None
    return state != State.DENIED


@dataclass(frozen=True)
class Proposal:
    """A rule, and the approvals that it would have spared."""

    rule: Rule
    spared: Sequence[Judged]

    @property
    def reason(self) -> str:
        """In one line."""
        people = ", ".join(sorted({each.person for each in self.spared}))
        first, last = (f(each.request.at for each in self.spared) for f in (min, max))
        when = f"{first:%Y-%m-%d} to {last:%Y-%m-%d}"
        return f"approved {len(self.spared)} times by {people}, {when}; never denied"


def suggest(in_force: Sequence[Rule], judged: Iterable[Judged]) -> list[Proposal]:
    """The rules worth a thought, those that spare the most first."""
    approved: defaultdict[Match, list[Judged]] = defaultdict(list)
    denied = []
    for each in judged:
        if not each.approved:
            denied.append(each.request)
        elif (match := narrowest(each.request)) is not None:
            approved[match].append(each)
    taken = {rule.id for rule in in_force}
    drawn = [_drawn(match, yes) for match, yes in approved.items() if len(yes) >= LEAST]
    found = _sparing(in_force, [each for each in drawn if each.rule.id not in taken])
    barred = _barred(in_force, found, denied)
    kept = [each for each in found if each.rule.id not in barred]
    return sorted(kept, key=lambda each: (-len(each.spared), each.rule.id))[:MOST]


def narrowest(request: Request) -> Match | None:
    """Just this request, at any time; None where plain values can't say it."""
    words = request.command
    names = (request.provider, request.target, request.agent, request.person)
    plain = all(word and printable(word) == word and MARK not in word for word in (*names, *words))
    if not plain or ANY_WORD in words or sum(map(len, words)) > MOST_LETTERS:
        return None
    provider, target, agent, person = (frozenset({name}) for name in names)
    return Match(
        provider=provider,
        env=frozenset({request.env}),
        target=target,
        scopes=request.scopes,
        agent=agent,
        person=person,
        command=words or None,
    )


def _drawn(match: Match, approved: Sequence[Judged]) -> Proposal:
    text = policy_toml.dumps([Rule("-", Effect.ALLOW, match)])
    name = f"approved-{sha256(text.encode()).hexdigest()[:12]}"
    seconds = [each.seconds for each in approved if each.seconds is not None]
    longest = max(1, min(seconds)) if seconds else None
    return Proposal(Rule(name, Effect.ALLOW, match, max_seconds=longest), approved)


def _sparing(in_force: Sequence[Rule], drawn: Sequence[Proposal]) -> list[Proposal]:
    """The proposals, each with the approvals that would be needless only with it; `LEAST` or more.

    Every request is covered by its own rule alone, so that they can be tried all at once.
    """
    without = Policy.compile(in_force).evaluate
    with_all = Policy.compile([*in_force, *(each.rule for each in drawn)]).evaluate
    found = []
    for each in drawn:
        spared = [
            yes
            for yes in each.spared
            if without(yes.request).effect is Effect.ASK
            and with_all(yes.request).effect is Effect.ALLOW
        ]
        if len(spared) >= LEAST:
            found.append(Proposal(each.rule, spared))
    return found


def _barred(
    in_force: Sequence[Rule], found: Sequence[Proposal], denied: Iterable[Request]
) -> frozenset[str]:
    """The rules that would have a part in allowing what a person denied.

    Rules that ask are left out: the denial may have come while their hours held.
    """
    allows = [rule for rule in in_force if rule.effect is Effect.ALLOW]
    evaluate = Policy.compile([*allows, *(each.rule for each in found)]).evaluate
    said = (evaluate(request) for request in denied)
    return frozenset(name for each in said if each.effect is Effect.ALLOW for name in each.because)
