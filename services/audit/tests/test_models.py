"""The log only grows: the database itself refuses a change, whoever asks and however."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from log_fixture import made
from styx_audit import repository as repo
from styx_audit.merkle import Frontier
from styx_audit.models import TABLES
from styx_core.db import Database
from styx_core.schema import OWN

ENTRY = "entry(seq, event_id, at, kind, actor, body)"
CHANGES = [
    "UPDATE entry SET actor = 'nobody'",
    "UPDATE entry SET seq = 9 WHERE seq = 0",
    "UPDATE OR REPLACE entry SET seq = 1 WHERE seq = 0",
    "UPDATE node SET hash = x'00'",
    "UPDATE checkpoint SET note = ''",
    "DELETE FROM entry",
    "DELETE FROM entry WHERE seq = 1",
    "DELETE FROM node",
    "DELETE FROM checkpoint",
    f"INSERT OR REPLACE INTO {ENTRY} VALUES (0, 'new', '', '', '', '')",
    f"REPLACE INTO {ENTRY} SELECT 9, event_id, '', '', '', '' FROM entry WHERE seq = 0",
    f"INSERT OR REPLACE INTO {ENTRY} SELECT NULL, event_id, '', '', '', '' FROM entry",
    f"INSERT INTO {ENTRY} VALUES (0, 'new', '', '', '', '') "
    "ON CONFLICT(seq) DO UPDATE SET actor = 'nobody'",
    "INSERT OR REPLACE INTO node VALUES (0, 0, x'00')",
    "INSERT OR REPLACE INTO node(rowid, level, position, hash) VALUES (1, 40, 0, x'00')",
    "INSERT OR REPLACE INTO checkpoint VALUES (3, '')",
    "INSERT OR REPLACE INTO checkpoint(rowid, note) VALUES (3, '')",
]


@pytest.fixture
async def outsider(db: Database, path: Path) -> AsyncIterator[sqlite3.Connection]:
    """A connection with none of the service's own settings, to a log of three entries."""
    events = [made(n).model_dump(mode="json") | {"kind": "k"} for n in range(3)]
    await db.write(lambda c: repo.append(c, Frontier(), events))
    await db.write(lambda c: repo.save_checkpoint(c, 3, "a note"))
    connection = sqlite3.connect(path, isolation_level=None)
    yield connection
    connection.close()


def whole(c: sqlite3.Connection) -> list[list[object]]:
    return [c.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_is_refused(outsider: sqlite3.Connection, change: str) -> None:
    before = whole(outsider)
    assert all(before)
    with pytest.raises(sqlite3.Error, match=r"append-only|no column named rowid"):
        outsider.execute(change)
    assert whole(outsider) == before


async def test_a_new_row_is_taken(outsider: sqlite3.Connection) -> None:
    outsider.execute(f"INSERT INTO {ENTRY} VALUES (3, 'new', '', '', '', '')")
    assert outsider.execute("SELECT count(*) FROM entry").fetchone() == (4,)


async def test_the_tables_are_these(outsider: sqlite3.Connection) -> None:
    tables = outsider.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    assert {name for (name,) in tables} == {*TABLES, *OWN}
