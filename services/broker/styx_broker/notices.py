"""What people are told, and who wants to know: pure, from events to notices.

A notice says what waits or happened and where to look. Neither the command nor the agent's own
words are in it: they would go through other people's servers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from styx_core.contract.base import Event
from styx_core.contract.grants_events import (
    AccessRequested,
    GrantDecided,
    GrantEnded,
    TargetHealthChanged,
)

REQUESTED, DECIDED, ENDING, EXPIRED = (
    *("access.requested", "access.decided"),
    *("grant.ending", "target.expired"),
)
KINDS: Final = {
    REQUESTED: "a request waits for a person",
    DECIDED: "a request was decided, or nobody did in time",
    ENDING: "a grant runs out soon",
    EXPIRED: "a target's login was refused by its provider",
}
NUDGE: Final = timedelta(minutes=5)
SHORTEST: Final = timedelta(minutes=1)


@dataclass(frozen=True)
class Told:
    """One thing to tell, to whoever wants it."""

    kind: str
    title: str
    text: str
    due_at: datetime
    about: Mapping[str, str] = field(default_factory=dict)


def told_of(event: Event, who: str, project: str) -> list[Told]:
    """What an event is worth telling. `who`: the agent and its person."""
    scopes = ", ".join(event.scopes)
    what = f"{scopes} on {event.target}" if scopes else str(event.target)
    about = {"project": project, "target": event.target or "", "scopes": scopes}
    about |= {"grant": event.grant_id or ""}

    def one(kind: str, title: str, text: str, due_at: datetime | None = None) -> Told:
        return Told(kind, title, f"{text} Project {project}.", due_at or event.at, about)

    if isinstance(event, AccessRequested):
        return [one(REQUESTED, f"{what} waits for you", f"{who} asks for {what}.")]
    if isinstance(event, GrantDecided) and event.decided_by == "user":
        verdict = "approved" if event.verdict == "approve" else "denied"
        decided = one(DECIDED, f"{what}: {verdict}", f"{event.actor} {verdict} what {who} asked.")
        return [decided, *_ending(event, what, who, one)]
    if isinstance(event, GrantEnded) and event.state == "expired" and event.actor == "grants":
        text = f"What {who} asked for or held ended: {event.why}."
        return [one(DECIDED, f"{what} is over", text)]
    if isinstance(event, TargetHealthChanged) and event.expired:
        text = "Its provider refuses its login; reconnect it, or agents get nothing there."
        return [one(EXPIRED, f"{event.target} needs a new login", text)]
    return []


def _ending(event: GrantDecided, what: str, who: str, one: Any) -> list[Told]:
    """A nudge before a grant runs out: five minutes, of a short one a quarter of its time."""
    due_at = nudged_at(event.expires_at, event.at)
    if event.verdict != "approve" or event.expires_at is None or due_at is None:
        return []
    until = event.expires_at.strftime("%H:%M UTC")
    title, text = f"{what} ends at {until}", f"{who} may ask again, or you extend it once."
    return [one(ENDING, title, text, due_at)]


def nudged_at(until: datetime | None, since: datetime) -> datetime | None:
    """When a grant's coming end is told; None where it has none or is too short for it."""
    if until is None:
        return None
    before = min(NUDGE, (until - since) / 4)
    return None if before < SHORTEST else until - before


def wants(channel: Any, told: Told, person: str | None, roles: Iterable[str]) -> bool:
    """Whether a channel is for this. `person`: whose agent it is about; `roles`: its owner's there.

    A channel with a delay is an escalation: of what still waits, and of nothing else.
    """
    if told.kind not in channel.kinds.split() or not set(roles):
        return False
    if channel.after_minutes and told.kind != REQUESTED:
        return False
    return not channel.only_own or channel.person == person


def due(channel: Any, told: Told) -> datetime:
    """When a channel is told."""
    return told.due_at + timedelta(minutes=channel.after_minutes)
