"""Tables for people, JSON for programs: how every command prints what it found."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text
from styx_core.printable import printable

COLOURS = {
    "pending": "yellow",
    "active": "green",
    "denied": "red",
    "expired": "dim",
    "revoked": "dim",
    "prod": "red",
}


def console() -> Console:
    """Colours only where a terminal is; no wrapping of what goes into a pipe."""
    width = None if sys.stdout.isatty() else 200
    return Console(highlight=False, width=width, soft_wrap=False)


def as_json(value: object) -> None:
    """The value as it came."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """A table, or a sentence where there is nothing. Nothing in a cell can hide or draw."""
    listed = list(rows)
    if not listed:
        print(empty)
        return
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in listed:
        made.add_row(*(_cell(value) for value in row))
    console().print(made)


def _cell(value: object) -> Text:
    text = printable(str(value if value is not None else "·"))
    return Text(text, style=COLOURS.get(text, ""))


def facts(pairs: Mapping[str, object]) -> None:
    """Names and values, one a line."""
    width = max(map(len, pairs))
    for name, value in pairs.items():
        if value not in (None, "", [], ()):
            print(f"{name:<{width}}  {printable(str(value))}")


def command(words: Sequence[str]) -> str:
    """A command as it would be typed: each word quoted where it could be misread."""
    return " ".join(w if w and w.isascii() and _plain(w) else _quoted(w) for w in words)


def _plain(word: str) -> bool:
    return all(letter.isalnum() or letter in "_-./:=@,+%" for letter in word)


def _quoted(word: str) -> str:
    return "'" + printable(word).replace("'", "'\\''") + "'"


def when(text: Any) -> str:
    """A time as how long ago, or how long still; nothing for none."""
    if not text:
        return "·"
    seconds = (datetime.fromisoformat(str(text)) - datetime.now(UTC)).total_seconds()
    size = abs(int(seconds))
    unit, amount = next(
        ((u, size // n) for u, n in (("d", 86400), ("h", 3600), ("m", 60)) if size >= n * 2),
        ("s", size),
    )
    return f"in {amount} {unit}" if seconds > 0 else f"{amount} {unit} ago"
