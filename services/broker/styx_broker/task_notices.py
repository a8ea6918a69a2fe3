"""What an agent is told of what it asked for or holds: pure, from events to sentences of ours.

People's words are in them quoted and cut short, with nothing hidden.
"""

from datetime import datetime
from typing import Any, Final, NamedTuple

from styx_core.contract.base import Event
from styx_core.contract.broker_board import ItemKind
from styx_core.contract.grants_events import GrantDecided, GrantEnded, GrantExtended
from styx_core.printable import printable

from styx_broker.notices import nudged_at

LONGEST_QUOTE: Final = 300


class Letter(NamedTuple):
    """One thing to tell the task `to`; `due_at` None: at once."""

    to: str
    kind: ItemKind
    text: str
    about: str
    at: datetime
    due_at: datetime | None = None


def letters_of(event: Event) -> list[Letter]:
    """What an event is worth telling the task that it is about.

    What policy decides is answered where it is asked, and what the task ends itself it knows.
    """
    if event.grant_id is None or event.task_id is None:
        return []
    scopes = ", ".join(event.scopes) or "access"
    what = f"{scopes} on {printable(event.target or 'a target')}"
    to = _To(event.task_id, event.grant_id, what)
    if isinstance(event, GrantDecided) and event.decided_by == "user":
        return [_decided(event, to), *_ending(event, to)]
    if isinstance(event, GrantExtended):
        return _ending(event, to)
    if isinstance(event, GrantEnded) and event.actor != event.task_id:
        return _ended(event, to)
    return []


class _To(NamedTuple):
    task_id: str
    grant_id: str
    what: str

    def letter(
        self, kind: ItemKind, text: str, at: datetime, due_at: datetime | None = None
    ) -> Letter:
        return Letter(self.task_id, kind, text, self.grant_id, at, due_at)


def _decided(event: GrantDecided, to: _To) -> Letter:
    who = printable(event.actor)
    if event.verdict == "deny":
        text = f"{who} denied your request for {to.what}: {quoted(event.why)}"
    else:
        until = f" until {_clock(event.expires_at)}" if event.expires_at else ""
        text = f"{who} approved your request: you hold {to.what}{until}. Just run the command."
    return to.letter("decision", text, event.at)


def _ending(event: GrantDecided | GrantExtended, to: _To) -> list[Letter]:
    due_at = nudged_at(event.expires_at, event.at)
    if due_at is None or event.expires_at is None:
        return []
    until = _clock(event.expires_at)
    text = f"Your grant of {to.what} ends at {until}. If you need it for longer, ask again then."
    return [to.letter("ending", text, due_at, due_at)]


def _ended(event: GrantEnded, to: _To) -> list[Letter]:
    if event.state == "expired":
        text = f"What you asked for or held is over, {to.what}: {event.why}."
    elif event.state == "revoked":
        text = f"{printable(event.actor)} ended your grant of {to.what}: {quoted(event.why)}"
    else:
        return []
    return [to.letter("ended", text, event.at)]


def answered(question: Any, answer: str, note: str | None, person: str, at: datetime) -> Letter:
    """That a person answered; the whole answer is told by asking the same again."""
    text = f"{printable(person)} answered your {question.kind} {quoted(question.text, 80)}: "
    text += quoted(answer) + (f" Note: {quoted(note)}" if note else "")
    return Letter(question.task_id, "answer", text, question.id, at)


def quoted(text: str, most: int = LONGEST_QUOTE) -> str:
    """Somebody's words on one line, in quotation marks that they can't close, cut short."""
    line = printable(" ".join(text.split())).replace('"', "'")
    return f'"{line}"' if len(line) <= most else f'"{line[:most]}…"'


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M UTC")
