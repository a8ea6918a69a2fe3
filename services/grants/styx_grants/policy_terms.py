"""The policy's words: a rule, what it matches, what is asked, what is decided. Pure values.

An absent (None) match means any; an empty set means none, so such a rule never matches
(`policy_lint` finds it). A value that could be misread raises where it is made, so that deciding
can trust it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from styx_core.scope import Scope, Scopes

Names = frozenset[str] | None
"""The names a rule matches; None for any."""

Words = tuple[str, ...]
"""The words of a command, in order, without the tool's own name."""

ANY_WORD = "*"
ROLE = "role:"
"""An approver that starts with this is a role; any other is a person's id."""

DAY_MINUTES = 24 * 60
EVERY_DAY = frozenset(range(7))


class Effect(StrEnum):
    """What a rule or a decision says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Env(StrEnum):
    """Where a target stands."""

    PROD = "prod"
    STAGING = "staging"
    PREVIEW = "preview"
    SCM = "scm"


class Origin(StrEnum):
    """Where a rule was written: in a policy, or on one target."""

    POLICY = "policy"
    TARGET_POLICY = "target-policy"


class DecidedBy(StrEnum):
    """Who decided, in the words of the MCP tools. A decision to ask is decided by the user."""

    USER = "user"
    POLICY = "policy"
    TARGET_POLICY = "target-policy"
    PERSISTENT_GRANT = "persistent-grant"


@dataclass(frozen=True, slots=True)
class Hours:
    """A daily window in UTC minutes after midnight, start inside, end outside; may wrap midnight.

    `days` (0 is Monday) are those on which the window opens: 22:00-06:00 on Friday holds on
    Saturday at 02:00. A window whose start is its end is empty.
    """

    start: int
    end: int
    days: frozenset[int] = EVERY_DAY

    def __post_init__(self) -> None:
        if not (0 <= self.start < DAY_MINUTES and 0 <= self.end <= DAY_MINUTES):
            raise ValueError(f"hours {self.start}-{self.end}: not minutes of a day (0 to 1440)")
        if not self.days <= EVERY_DAY:
            raise ValueError(f"hours on days {sorted(self.days)}: days are 0 (Monday) to 6")

    def holds(self, day: int, minute: int) -> bool:
        """Whether the window is open on that day (0 is Monday) at that minute of it."""
        if self.start < self.end:
            return day in self.days and self.start <= minute < self.end
        if self.start == self.end:
            return False
        return (minute >= self.start and day in self.days) or (
            minute < self.end and (day - 1) % 7 in self.days
        )


def _each_is(kind: type[StrEnum], values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise ValueError(f"{value!r} is no {kind.__name__}; use {', '.join(kind)}")


def _set_or_none(what: str, value: object) -> None:
    if value is not None and not isinstance(value, frozenset):
        raise TypeError(f"{what} must be a frozenset or None, not {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Match:
    """What a rule is about. Every condition must hold; one left at None always does.

    `command` matches the leading words of a command, one by one; "*" stands for any one word.
    """

    project: Names = None
    provider: Names = None
    env: frozenset[Env] | None = None
    target: Names = None
    scopes: Scopes | None = None
    agent: Names = None
    person: Names = None
    command: Words | None = None
    hours: Hours | None = None

    def __post_init__(self) -> None:
        for what in ("project", "provider", "env", "target", "scopes", "agent", "person"):
            _set_or_none(what, getattr(self, what))
        _each_is(Env, self.env or ())
        _each_is(Scope, self.scopes or ())
        if self.command is not None and not (
            isinstance(self.command, tuple) and self.command and all(self.command)
        ):
            raise ValueError("command must be a tuple of one or more words, none of them empty")


ANYTHING = Match()


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of policy. Its limits bind every request it touches, whatever its effect.

    max_seconds: longest grant, None for no limit. approvers: who may approve (a person's id, or a
    role as `role:name`), None for anyone who may approve at all. quorum: approvals needed.
    own_agent: whether people may approve what their own agents ask.
    Raises ValueError or TypeError naming what is wrong.
    """

    id: str
    effect: Effect
    match: Match = ANYTHING
    max_seconds: int | None = None
    approvers: Names = None
    quorum: int = 1
    own_agent: bool = True
    origin: Origin = Origin.POLICY

    def __post_init__(self) -> None:
        if not self.id or not self.id.isprintable():
            raise ValueError(f"rule id {self.id!r}: use one or more printable characters")
        _each_is(Effect, (self.effect,))
        _each_is(Origin, (self.origin,))
        _set_or_none("approvers", self.approvers)
        if self.quorum < 1:
            raise ValueError(f"rule {self.id}: quorum is {self.quorum}, use 1 or more")
        if self.max_seconds is not None and self.max_seconds < 1:
            raise ValueError(f"rule {self.id}: max_seconds is {self.max_seconds}, use 1 or more")


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. `command` is redacted and empty when none is named (an access request).

    at: when, in UTC. narrowable: the credential can be made to do no more than this. Derived, once
    for all rules: day (0 is Monday) and minute of it; plain, the number of words before the
    command's first flag. Raises ValueError when nothing or something unknown is asked for, or
    the time is not in UTC.
    """

    project: str
    provider: str
    env: Env
    target: str
    scopes: Scopes
    agent: str
    person: str
    command: Words
    at: datetime
    narrowable: bool
    day: int = field(init=False, compare=False)
    minute: int = field(init=False, compare=False)
    plain: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        _each_is(Env, (self.env,))
        _each_is(Scope, self.scopes)
        if not self.scopes:
            raise ValueError("a request must ask for at least one scope")
        if self.at.utcoffset() != timedelta(0):
            raise ValueError("a request's time must be aware and in UTC")
        object.__setattr__(self, "day", self.at.weekday())
        object.__setattr__(self, "minute", self.at.hour * 60 + self.at.minute)
        flags = (place for place, word in enumerate(self.command) if word.startswith("-"))
        object.__setattr__(self, "plain", next(flags, len(self.command)))


class Decision(NamedTuple):
    """What the policy says, because of which rules (ids in order), and why in one line.

    approvers None means anyone who may approve; approvable is False when nobody can meet the
    rules' limits together. A denial carries no limits: there is nothing to approve.
    """

    effect: Effect
    because: tuple[str, ...]
    why: str
    decided_by: DecidedBy
    mfa: bool = False
    max_seconds: int | None = None
    approvers: Names = None
    quorum: int = 1
    own_agent: bool = True
    approvable: bool = True

    def admits(self, approver: str, roles: Iterable[str], requester: str) -> bool:
        """Whether this person, with these roles, may approve what the requester's agent asks."""
        if self.effect is Effect.DENY or not self.approvable:
            return False
        if approver == requester and not self.own_agent:
            return False
        if self.approvers is None:
            return True
        person = {approver} if not approver.startswith(ROLE) else set()
        return not self.approvers.isdisjoint(person | {f"{ROLE}{role}" for role in roles})
