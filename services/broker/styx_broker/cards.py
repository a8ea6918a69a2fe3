"""What an approver sees of a request: pure, from the rows to what a card shows.

Everything that an agent could have chosen is shown as it is, quoted, with nothing hidden in it.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from styx_core.contract.values import GrantView
from styx_core.printable import printable
from styx_core.scope import ordered

DURATIONS: Final = {
    "once": "this command, once",
    "15m": "15 minutes",
    "1h": "one hour",
    "8h": "8 hours",
    "task": "while the task lives",
    "always": "always",
}
DECIDED_SHOWN: Final = timedelta(minutes=10)
_ENVS: Final = {"prod": 0, "scm": 1, "staging": 2, "preview": 3}
_WORST: Final = ("delete", "deploy", "write", "read")


@dataclass(frozen=True)
class Card:
    """One request, ready to be shown."""

    grant: GrantView
    task: Mapping[str, Any]
    command: str
    risk: str
    """The worst that it may do."""
    kind: str
    """Requests of one kind differ in nothing that matters to a decision."""
    durations: Mapping[str, str]
    revoke: str
    """What a revoke could do to what is handed out."""
    signed: str
    """What a decision about it signs, as JSON, without verdict, scopes and duration."""


def card(grant: GrantView, task: Mapping[str, Any], revoke: str = "") -> Card:
    """A request as it is shown."""
    offered = {d: t for d, t in DURATIONS.items() if d != "once" or grant.command}
    about = {"grant": grant.id, "target": grant.target, "env": grant.env, "command": grant.command}
    return Card(
        grant=grant,
        task=task,
        command=quoted(grant.command),
        risk=risk(grant),
        kind=json.dumps([grant.project_id, grant.agent, grant.target, grant.scopes, grant.command]),
        durations=offered,
        revoke=revoke,
        signed=json.dumps({**about, "scopes": ordered(grant.scopes), "duration": grant.duration}),
    )


def quoted(command: Iterable[str]) -> str:
    """A command as a shell would need it, every letter visible."""
    return " ".join(shlex.quote(printable(word)) for word in command)


def risk(grant: GrantView) -> str:
    """The worst that it may do."""
    return next((s for s in _WORST if s in grant.scopes), "read")


def waiting(grants: Iterable[GrantView]) -> list[GrantView]:
    """The riskiest first, then the newest."""
    newest = sorted(grants, key=lambda each: each.created_at, reverse=True)
    return sorted(newest, key=lambda each: (_ENVS[each.env], _WORST.index(risk(each))))


def alike(cards: Iterable[Card]) -> Mapping[str, int]:
    """How many wait of each kind."""
    return Counter(each.kind for each in cards)


def just_decided(grants: Iterable[GrantView], now: datetime) -> list[GrantView]:
    """What was settled in the last minutes, the newest first: somebody may be looking for it."""
    since = now - DECIDED_SHOWN
    recent = [g for g in grants if g.decided_at is not None and g.decided_at >= since]
    return sorted(recent, key=lambda g: g.decided_at or since, reverse=True)[:20]
