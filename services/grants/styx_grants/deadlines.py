"""When a grant ends by itself: duration, idle hour, and a request's own life. Pure arithmetic.

The clock of a grant starts at its approval, not at its request. A clock that steps back prolongs
nothing: the time to judge by is the latest that is known, which `steady` carries forward.
All times are aware UTC.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from styx_grants.machine import State, Step

ONCE_WINDOW = timedelta(minutes=5)
"""How long a this-command-once grant waits for its command."""

IDLE = timedelta(hours=1)
"""A grant that is not used for this long ends, unless it is a standing one."""

REQUEST_LIFE = timedelta(hours=24)
"""How long a request stays open for a decision."""


class Duration(StrEnum):
    """How long a grant may be asked and approved for."""

    ONCE = "once"
    QUARTER = "15m"
    HOUR = "1h"
    EIGHT_HOURS = "8h"
    TASK = "task"
    ALWAYS = "always"

    @property
    def standing(self) -> bool:
        """Whether it outlives idle hours and tasks."""
        return self is Duration.ALWAYS


DEFAULT = Duration.HOUR

_LENGTH = {
    Duration.ONCE: ONCE_WINDOW,
    Duration.QUARTER: timedelta(minutes=15),
    Duration.HOUR: timedelta(hours=1),
    Duration.EIGHT_HOURS: timedelta(hours=8),
}


def expires_at(
    duration: Duration, approved_at: datetime, max_seconds: int | None = None
) -> datetime | None:
    """When a grant approved then is over; None if only its task, disuse or a person ends it.

    max_seconds is the policy's limit: it shortens any duration, `task` and `always` too.
    """
    lengths = [_LENGTH[duration]] if duration in _LENGTH else []
    if max_seconds is not None:
        lengths.append(timedelta(seconds=max_seconds))
    return approved_at + min(lengths) if lengths else None


@dataclass(frozen=True, slots=True)
class GrantView:
    """The times of one grant. Raises ValueError when an active grant's times are incomplete."""

    state: State
    duration: Duration
    requested_at: datetime
    approved_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None

    def __post_init__(self) -> None:
        if self.state != State.ACTIVE:
            return
        if self.approved_at is None:
            raise ValueError("an active grant must say when it was approved")
        if self.expires_at is None and self.duration in _LENGTH:
            raise ValueError(f"an active grant for {self.duration} must say when it expires")


def idle_at(view: GrantView) -> datetime | None:
    """When the grant ends for want of use; None if it never does or is not active."""
    if view.state != State.ACTIVE or view.approved_at is None or view.duration.standing:
        return None
    used = [view.approved_at] + ([view.last_used_at] if view.last_used_at else [])
    return max(used) + IDLE


def ends_at(view: GrantView) -> datetime | None:
    """The latest that an active grant lives if nobody uses it again; None for a standing one."""
    ends = [end for end in (view.expires_at, idle_at(view)) if end is not None]
    return min(ends, default=None)


def steady(now: datetime, seen: datetime, elapsed: timedelta) -> datetime:
    """The time to judge by: never behind the latest time seen plus what a monotonic clock says
    has passed since, so that a wall clock set back holds no deadline up."""
    return max(now, seen + max(elapsed, timedelta(0)))


def due(view: GrantView, now: datetime, seen: datetime | None = None) -> Step | None:
    """The step that is due by now, if any. `seen` is the latest time known (see `steady`).

    A grant's own last use is also a time that was seen.
    """
    known = [time for time in (now, seen, view.last_used_at) if time is not None]
    clock = max(known)
    if view.state == State.PENDING:
        return Step.TIME_OUT if clock >= view.requested_at + REQUEST_LIFE else None
    if view.state != State.ACTIVE:
        return None
    if view.expires_at is not None and clock >= view.expires_at:
        return Step.EXPIRE
    idle = idle_at(view)
    return Step.IDLE if idle is not None and clock >= idle else None
