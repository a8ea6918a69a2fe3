"""Every row comes back as it went in, its times aware and in UTC, and no table holds a secret."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import JSON, Boolean, DateTime, Integer, Table, insert, inspect, select
from sqlalchemy.exc import IntegrityError
from styx_core.db import Database
from styx_core.testing import migrated
from styx_grants.models import METADATA, OUTBOX, SCHEMA, Target

EAST = timezone(timedelta(hours=5, minutes=30))
LOCAL = datetime(2026, 1, 5, 17, 30, 15, 123456, tzinfo=EAST)
TABLES = [table for table in METADATA.sorted_tables if table is not OUTBOX]
TIMED = (
    *("approval", "grant", "invitation", "key", "lease", "offer", "sessionkey", "spent", "use"),
)


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    """The database in a file."""
    database = Database(migrated(SCHEMA, f"sqlite:///{tmp_path / 'grants.db'}"), lambda: None)
    yield database
    await database.close()


def sample(table: Table, full: bool) -> dict[str, Any]:
    """A row with a value in each column, or in those alone that need one."""
    return {c.name: value(c) for c in table.columns if full or not c.nullable}


def value(column: Any) -> object:
    """Something that fits the column."""
    kind = column.type
    if isinstance(kind, JSON):
        return {"key": "välue"} if column.name in ("config", "handle", "choice") else ["a", "b"]
    if isinstance(kind, Boolean):
        return True
    if isinstance(kind, Integer):
        return 7
    return LOCAL if is_time(column) else f"{column.name} 'quoted' ünïcode\n"


def is_time(column: Any) -> bool:
    """Whether the column holds a time."""
    kind = column.type
    return isinstance(getattr(kind, "impl_instance", kind), DateTime)


async def kept(db: Database, table: Table, row: dict[str, Any]) -> dict[str, Any]:
    """The row as it is read again."""
    await db.write(lambda c: c.execute(insert(table), row).rowcount)
    found = await db.read(lambda c: c.execute(select(table)).one())
    return dict(found._mapping)


@pytest.mark.parametrize("full", [True, False], ids=["full", "least"])
@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
async def test_a_row_comes_back_as_it_went_in(db: Database, table: Table, full: bool) -> None:
    row = sample(table, full)
    found = await kept(db, table, row)
    assert {name: found[name] for name in row} == row
    for name in set(found) - set(row):
        assert found[name] is None


@pytest.mark.parametrize("name", TIMED)
async def test_its_times_are_aware_and_in_utc(db: Database, name: str) -> None:
    table = METADATA.tables[name]
    found = await kept(db, table, sample(table, full=True))
    times = [found[column.name] for column in table.columns if is_time(column)]
    assert times
    assert all(time.tzinfo is UTC and time == LOCAL for time in times)


def test_no_other_table_has_times() -> None:
    assert {table.name for table in TABLES if any(map(is_time, table.columns))} == set(TIMED)


async def test_two_targets_of_a_project_cannot_have_one_name(db: Database) -> None:
    table = Target.metadata.tables["target"]
    row = sample(table, full=True)
    await kept(db, table, row)
    with pytest.raises(IntegrityError):
        await kept(db, table, {**row, "id": "another"})
    other = {**row, "id": "another", "project_id": "another"}
    await db.write(lambda c: c.execute(insert(table), other).rowcount)


async def test_what_is_looked_up_on_every_call_is_indexed(db: Database) -> None:
    def indexed(c: Any) -> set[tuple[str, ...]]:
        looked = inspect(c)
        return {tuple(i["column_names"]) for t in TABLES for i in looked.get_indexes(t.name)}

    wanted = {("target_id", "state"), ("task_id", "state"), ("project_id", "name"), ("grant_id",)}
    assert await db.read(indexed) >= wanted


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_no_column_is_for_a_secret_or_a_sealed_box(table: Table) -> None:
    names = {column.name for column in table.columns}
    assert not names & {"secret", "token", "box", "sealed", "password", "edge_key", "private_key"}
