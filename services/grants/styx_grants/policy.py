"""The policy engine: what the rules say about one request. Pure: the time is in the request.

Laws (the tests hold them against a second, plain implementation):
- The most cautious rule wins: deny, then ask, then allow. Silence asks. Order never matters.
- A deny or an ask needs to touch only one scope asked for; the allow rules that touch the request
  must cover them all between them.
- On prod, a write, deploy or delete, and any grant whose credential can't be narrowed, needs a
  person's approval with MFA. No rule can waive it.
- The limits of all rules that touch the request combine to the strictest: shortest time, largest
  quorum, approvers in common (by name: a role and a person have nothing in common), own agents
  only if every rule lets them. Limits that nobody can meet leave it closed, and it says so.
- The decision names the rules that decided; none if it was silence.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise

from styx_core.scope import EVERY, Scope, Scopes, ordered

from styx_grants.policy_index import Index
from styx_grants.policy_match import bearing
from styx_grants.policy_terms import (
    ROLE,
    DecidedBy,
    Decision,
    Effect,
    Env,
    Hours,
    Match,
    Names,
    Origin,
    Request,
    Rule,
)

__all__ = [
    "DecidedBy",
    "Decision",
    "Effect",
    "Env",
    "Hours",
    "Match",
    "Origin",
    "Policy",
    "Request",
    "Rule",
    "nearest_allowed",
]

# hoisted: a look-up on an enum costs more than all the comparisons made with it
_ALLOW, _ASK, _DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
_PROD, _FROM_POLICY = Env.PROD, Origin.POLICY
_BY_POLICY, _BY_TARGET, _BY_USER = DecidedBy.POLICY, DecidedBy.TARGET_POLICY, DecidedBy.USER
_list = ", ".join
_READ_ONLY: Scopes = frozenset({Scope.READ})
_NOTHING: Scopes = frozenset()
_SPELLED: dict[Scopes, str] = {
    frozenset(some): ", ".join(some)
    for count in range(len(EVERY) + 1)
    for some in combinations(ordered(EVERY), count)
}
"""Every set of scopes in words."""


_Limits = tuple[int | None, Names, int, bool, bool]
"""The tail of a Decision: max_seconds, approvers, quorum, own_agent, approvable."""

_All = tuple[Effect, tuple[str, ...], str, DecidedBy, bool, int | None, Names, int, bool, bool]
_decision: Callable[[_All], Decision] = partial(tuple.__new__, Decision)
"""A Decision of all its fields at once, at half the price of calling it."""


class Policy:
    """A compiled set of rules. Immutable; deciding costs by the rules that match, not by all."""

    __slots__ = ("_index",)

    def __init__(self, index: Index) -> None:
        self._index = index

    @classmethod
    def compile(cls, rules: Iterable[Rule]) -> "Policy":
        """Index the rules. Raises ValueError naming an id that two rules share."""
        listed = sorted(rules, key=lambda rule: rule.id)
        for one, two in pairwise(listed):
            if one.id == two.id:
                raise ValueError(f"two rules have the id {one.id}: give each its own")
        return cls(Index(listed))

    def evaluate(self, request: Request) -> Decision:
        """What the rules say about the request."""
        touching: list[Rule] = []
        denies: list[Rule] = []
        asks: list[Rule] = []
        apart = request.scopes.isdisjoint
        for rule, scopes, fixed in self._index.candidates(request):
            if apart(scopes):
                continue
            effect = bearing(rule, request) if fixed is None else fixed
            if effect is None:
                continue
            touching.append(rule)
            if effect is _DENY:
                denies.append(rule)
            elif effect is _ASK:
                asks.append(rule)
        if denies:
            because = _ids(denies)
            return Decision(_DENY, because, f"denied by {_list(because)}", _author(denies))
        return _permit(request, touching, asks)


def _permit(request: Request, touching: list[Rule], asks: list[Rule]) -> Decision:
    """The decision where nothing denies."""
    limits = _limits(touching, request.person)
    strict = _needs_mfa(request)
    if asks:
        because = _ids(asks)
        why = f"{_list(because)} asks a person first"
    elif uncovered := _uncovered(request.scopes, touching):
        because = ()
        why = f"no rule allows {_SPELLED[uncovered]} here, so a person decides"
    else:
        because = _ids(touching)
        why = f"allowed by {_list(because)}"
        if not strict:
            return _decision((_ALLOW, because, why, _author(touching), False, *limits))
    if strict:
        why = f"{why}; {strict} always needs a person's approval with MFA"
    if not limits[-1]:
        why = f"{why}; nobody can approve it: {_blocked(touching, limits)}"
    return _decision((_ASK, because, why, _BY_USER, bool(strict), *limits))


def _needs_mfa(request: Request) -> str:
    """What about the request demands MFA, in words; empty if nothing does."""
    if request.env != _PROD:
        return ""
    if changes := request.scopes - _READ_ONLY:
        return f"{_SPELLED[changes]} on prod"
    return "" if request.narrowable else "a credential on prod that can't be narrowed"


def _uncovered(asked: Scopes, allows: Iterable[Rule]) -> Scopes:
    for rule in allows:
        scopes = rule.match.scopes
        if scopes is None or scopes >= asked:
            return _NOTHING
        asked -= scopes
    return asked


def _limits(rules: Sequence[Rule], requester: str) -> _Limits:
    max_seconds: int | None = None
    approvers: Names = None
    quorum, own_agent = 1, True
    for rule in rules:
        longest, named = rule.max_seconds, rule.approvers
        if longest is not None and (max_seconds is None or longest < max_seconds):
            max_seconds = longest
        if named is not None:
            approvers = named if approvers is None else approvers & named
        if rule.quorum > quorum:
            quorum = rule.quorum
        own_agent = own_agent and rule.own_agent
    barred = "" if own_agent else requester
    approvable = approvers is None or _enough(approvers - {barred}, quorum)
    return max_seconds, approvers, quorum, own_agent, approvable


def _enough(approvers: frozenset[str], quorum: int) -> bool:
    """A role may be held by any number of people; persons count one each."""
    return len(approvers) >= quorum or any(name.startswith(ROLE) for name in approvers)


def _blocked(rules: Sequence[Rule], limits: _Limits) -> str:
    named = _ids([rule for rule in rules if rule.approvers is not None])
    _, approvers, quorum, own_agent, _ = limits
    if not approvers:
        return f"{_list(named)} leave no approver in common"
    own = "" if own_agent else " other than the requester"
    return f"{_list(named)} leave fewer approvers{own} than the {quorum} needed"


def _author(deciders: Iterable[Rule]) -> DecidedBy:
    """The target's own policy if it alone decided."""
    for rule in deciders:
        if rule.origin is _FROM_POLICY:
            return _BY_POLICY
    return _BY_TARGET


def _ids(rules: Sequence[Rule]) -> tuple[str, ...]:
    if len(rules) == 1:
        return (rules[0].id,)
    return tuple(sorted([rule.id for rule in rules]))


def nearest_allowed(policy: Policy, request: Request) -> Request | None:
    """The same request with the most of its scopes that the policy allows at once, or None.

    Always fewer scopes than asked; of equally many, those that come first in printed order.
    """
    scopes = ordered(request.scopes)
    for count in range(len(scopes) - 1, 0, -1):
        for fewer in combinations(scopes, count):
            smaller = replace(request, scopes=frozenset(fewer))
            if policy.evaluate(smaller).effect is _ALLOW:
                return smaller
    return None
