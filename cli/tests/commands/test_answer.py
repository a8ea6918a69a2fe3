"""`styx answer`: what waits, and one answer to one question."""

from typing import Any

import pytest

QUESTION = {
    "id": "qst_0000000000000000000000000a",
    "agent": "claude",
    "kind": "decision",
    "text": "Which?\x1b[2J",
    "options": ["red", "blue"],
}
PATH = f"/v1/questions/{QUESTION['id']}/answer"


@pytest.fixture
def asked(broker: Any) -> Any:
    broker.answers["GET /v1/questions"] = [QUESTION]
    broker.answers[f"POST {PATH}"] = {"answered": QUESTION["id"]}
    return broker


def test_what_waits_is_shown_with_nothing_hidden(styx: Any, asked: Any) -> None:
    shown = styx("answer").out
    assert "red, blue" in shown
    assert "\x1b" not in shown
    assert styx("answer", "--json").json == [QUESTION]
    asked.answers["GET /v1/questions"] = []
    assert styx("answer").out == "No agent asks anything.\n"


def test_one_is_answered(styx: Any, asked: Any) -> None:
    assert styx("answer", "0000a", "blue", "--note", "as agreed").out == "Answered.\n"
    (sent,) = asked.sent("POST")
    assert sent.body == {"answer": "blue", "note": "as agreed"}
    for words in (("nowhere", "blue"), ("0000a",)):
        done = styx("answer", *words)
        assert (done.code, "name one question" in done.err) == (64, True)
    assert len(asked.sent("POST")) == 1
