"""What a task is told: pure, event by event; sentences of ours, people's words quoted and short."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from styx_broker.task_notices import LONGEST_QUOTE, answered, letters_of, quoted
from styx_core.contract.base import Event
from styx_core.contract.grants_events import (
    AccessRequested,
    GrantDecided,
    GrantEnded,
    GrantExtended,
)
from styx_core.ids import new_id

AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
TASK, GRANT = new_id("tsk"), new_id("grt")
ABOUT: dict[str, Any] = {
    "id": "evt_1",
    "at": AT,
    "actor": "ada",
    "task_id": TASK,
    "grant_id": GRANT,
    "target": "prod",
    "scopes": ("delete",),
    "command": ("aws", "s3", "rm", "FIXTURE-words"),
}
YES = GrantDecided(
    **ABOUT,
    because=(),
    why="no rule",
    verdict="approve",
    decided_by="user",
    expires_at=AT + timedelta(hours=1),
)
NO = YES.model_copy(update={"verdict": "deny", "why": 'ada: "not\ntoday"', "expires_at": None})
OVER = GrantEnded(**ABOUT | {"actor": "grants"}, state="expired", why="its time was over")
PROOF = {"payload": "p", "signature": "s"}
LONGER = GrantExtended(**ABOUT, expires_at=AT + timedelta(hours=2), **PROOF)
ASKED = AccessRequested(**ABOUT, reason="x", understood="it deletes", why="no rule")


@pytest.mark.parametrize(
    ("event", "kinds", "text"),
    [
        (YES, ["decision", "ending"], "ada approved your request: you hold delete on prod until"),
        (NO, ["decision"], "ada denied your request for delete on prod: \"ada: 'not today'\""),
        (OVER, ["ended"], "is over, delete on prod: its time was over."),
        (
            OVER.model_copy(update={"actor": "ada", "state": "revoked", "why": "a leak"}),
            ["ended"],
            'ada ended your grant of delete on prod: "a leak"',
        ),
        (LONGER, ["ending"], "ends at 14:00 UTC"),
        (YES.model_copy(update={"decided_by": "policy"}), [], ""),
        (OVER.model_copy(update={"actor": TASK, "state": "revoked"}), [], ""),
        (OVER.model_copy(update={"state": "spent"}), [], ""),
        (OVER.model_copy(update={"task_id": None}), [], ""),
        (ASKED, [], ""),
    ],
)
def test_an_event_is_worth_telling_its_task_or_not(
    event: Event, kinds: list[str], text: str
) -> None:
    found = letters_of(event)
    assert [each.kind for each in found] == kinds
    assert all((each.to, each.about) == (TASK, GRANT) for each in found)
    assert not kinds or text in found[0].text
    assert "FIXTURE" not in repr(found)


def test_a_coming_end_is_told_when_it_is_near() -> None:
    decided, ending = letters_of(YES)
    assert (decided.due_at, ending.due_at) == (None, AT + timedelta(minutes=55))
    short = YES.model_copy(update={"expires_at": AT + timedelta(minutes=3)})
    assert [each.kind for each in letters_of(short)] == ["decision"]


def test_an_answer_names_its_question_and_both_are_quoted() -> None:
    question = SimpleNamespace(id="qst_1", task_id=TASK, kind="question", text="Which\u202e one?")
    letter = answered(question, 'the "new"\none' + "x" * 999, "soon", "ada", AT)
    assert letter.text.startswith(
        'ada answered your question "Which⟨U+202E⟩ one?": "the \'new\' one'
    )
    assert letter.text.endswith('…" Note: "soon"')
    assert (letter.to, letter.kind, letter.about) == (TASK, "answer", "qst_1")


@pytest.mark.parametrize("text", ["", "x" * 5000, "\x1b[2J", '"', "\u2028", "a\n\nb"])
def test_a_quote_is_one_short_line_that_hides_nothing(text: str) -> None:
    made = quoted(text)
    assert made.isprintable()
    assert made.count('"') == 2
    assert len(made) <= LONGEST_QUOTE + 3
