"""What people see: tables, facts, commands and times; nothing in them can hide."""

from datetime import UTC, datetime, timedelta

import pytest
from styx_cli import show


def test_a_table_shows_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    show.table(("grant", "state"), [("grt_1", "active"), ("grt_2", None)], "none")
    out = capsys.readouterr().out
    assert "grt_1" in out
    assert "·" in out
    assert "\x1b[" not in out


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    show.table(("grant",), [], "No grants yet.")
    assert capsys.readouterr().out == "No grants yet.\n"


def test_nothing_hides_in_a_cell_or_a_fact(capsys: pytest.CaptureFixture[str]) -> None:
    show.table(("command",), [("rm \u202etxt.exe\x1b[2K",)], "")
    show.facts({"reason": "ok\x07\u2066", "empty": None})
    out = capsys.readouterr().out
    assert not {"\u202e", "\x1b", "\x07", "\u2066"} & set(out)
    assert "202E" in out
    assert "empty" not in out


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("aws", "s3", "rm", "s3://b/k"), "aws s3 rm s3://b/k"),
        (("ssh", "h", "ls; rm x"), "ssh h 'ls; rm x'"),
        (("x", ""), "x ''"),
        (("x", "it's"), "x 'it'\\''s'"),
    ],
)
def test_a_command_is_quoted_as_it_would_be_typed(words: tuple[str, ...], shown: str) -> None:
    assert show.command(words) == shown


def test_times_are_told_from_now() -> None:
    now = datetime.now(UTC)
    assert show.when(None) == "·"
    assert show.when((now + timedelta(minutes=30, seconds=5)).isoformat()) == "in 30 m"
    assert show.when((now - timedelta(hours=3)).isoformat()) == "3 h ago"
