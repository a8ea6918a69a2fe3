"""The database on real SQLite files: a transaction is whole or leaves nothing."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    create_engine,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import Field, SQLModel
from styx_core.db import Database, by, into
from styx_core.errors import Unavailable
from styx_core.testing import tables

METADATA = MetaData()
ACCOUNT = Table(
    "account",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", String, unique=True),
    Column("held", Integer, nullable=False, default=0),
)
PART = Table("part", METADATA, Column("of", ForeignKey("account.id")), Column("body", String))


class Moments(SQLModel):
    metadata = MetaData()


class Moment(Moments, table=True):
    id: int = Field(primary_key=True)
    at: datetime


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db.sqlite"


@pytest.fixture
def commits() -> list[int]:
    return []


@pytest_asyncio.fixture
async def db(path: Path, commits: list[int]) -> AsyncIterator[Database]:
    database = Database(tables(f"sqlite:///{path}", METADATA), lambda: commits.append(1))
    yield database
    await database.close()


def add(number: int, fails: bool = False) -> Callable[[Connection], int]:
    def run(c: Connection) -> int:
        c.execute(into(ACCOUNT), {"id": number, "owner": f"o{number}"})
        if fails:
            raise LookupError(f"FIXTURE {number}")
        return number

    return run


async def ids(db: Database) -> list[int]:
    return list(
        await db.read(lambda c: c.execute(select(ACCOUNT.c.id).order_by(ACCOUNT.c.id)).scalars())
    )


async def test_what_raises_is_undone_and_the_rest_of_its_group_is_kept(
    db: Database, commits: list[int]
) -> None:
    with pytest.raises(LookupError, match="FIXTURE 1"):
        await db.write(add(1, fails=True))
    assert (await ids(db), commits) == ([], [])
    jobs = (db.write(add(n, fails=n % 3 == 0)) for n in range(90))
    done = await asyncio.gather(*jobs, return_exceptions=True)
    assert [n for n in done if isinstance(n, int)] == [n for n in range(90) if n % 3]
    assert all(isinstance(done[n], LookupError) for n in range(0, 90, 3))
    assert await ids(db) == [n for n in range(90) if n % 3]


async def test_a_broken_rule_of_the_table_is_its_callers_alone(db: Database) -> None:
    def half(c: Connection) -> None:
        c.execute(insert(ACCOUNT), {"id": 7, "owner": "o7"})
        c.execute(insert(PART), {"of": 99, "body": "of no account"})

    done = await asyncio.gather(
        db.write(add(1)), db.write(half), db.write(add(1)), db.write(add(2)), return_exceptions=True
    )
    assert [type(each) for each in done] == [int, IntegrityError, IntegrityError, int]
    assert await ids(db) == [1, 2]


async def test_writers_from_many_tasks_lose_no_update(db: Database, commits: list[int]) -> None:
    await db.write(add(1))

    def more(c: Connection) -> None:
        held = c.execute(by(ACCOUNT.c.id), {"value": 1}).one().held
        c.execute(update(ACCOUNT).values(held=held + 1))

    await asyncio.gather(*(db.write(more) for _ in range(300)))
    row = await db.glance(lambda c: c.execute(by(ACCOUNT.c.id), {"value": 1}).one())
    assert row.held == 300
    assert len(commits) < 300, "transactions that wait together share a commit"


async def test_two_processes_on_one_file_lose_no_update(db: Database, path: Path) -> None:
    """A second `Database` has its own writer, as another process has."""
    other = Database(tables(f"sqlite:///{path}", METADATA), lambda: None)
    await db.write(add(1))
    more = update(ACCOUNT).values(held=ACCOUNT.c.held + 1)
    both = (each.write(lambda c: c.execute(more)) for _ in range(60) for each in (db, other))
    await asyncio.gather(*both)
    await other.close()
    assert (await db.read(lambda c: c.execute(select(ACCOUNT.c.held)).scalar_one())) == 120


async def test_readers_see_what_was_committed_and_nothing_before(db: Database) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def slowly(c: Connection) -> None:
        add(1)(c)
        inside.set()
        go_on.wait(20)

    writing = asyncio.create_task(db.write(slowly))
    await asyncio.to_thread(inside.wait, 20)
    assert (await ids(db), await db.glance(lambda c: c.execute(select(ACCOUNT)).all())) == ([], [])
    go_on.set()
    await writing
    assert await ids(db) == [1]


async def test_one_who_leaves_early_spoils_no_others_transaction(db: Database) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def held(_connection: Connection) -> bool:
        inside.set()
        return go_on.wait(20)

    first = asyncio.create_task(db.write(held))
    await asyncio.to_thread(inside.wait, 20)
    later = [asyncio.create_task(db.write(add(n))) for n in range(4)]
    await asyncio.sleep(0)
    later[1].cancel()
    await asyncio.wait({later[1]})
    go_on.set()
    done = await asyncio.gather(first, *later, return_exceptions=True)
    assert [type(each) for each in done] == [bool, int, asyncio.CancelledError, int, int]
    assert await ids(db) == [0, 2, 3], "what was cancelled before its turn was not done"


async def test_a_locked_file_is_our_error_and_passes(db: Database, path: Path) -> None:
    await db.write(lambda c: c.execute(text("PRAGMA busy_timeout=20")))
    with sqlite3.connect(path, isolation_level=None) as lock:
        lock.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"can't take this now \(database is locked\); try"):
            await db.write(add(1))
        assert await ids(db) == [], "reading goes on"
        lock.execute("ROLLBACK")
    lock.close()
    assert await db.write(add(2)) == 2
    assert await ids(db) == [2]


async def test_a_full_disk_is_our_error_and_leaves_nothing_half_written(db: Database) -> None:
    await db.write(add(1))
    pages = await db.write(lambda c: c.execute(text("PRAGMA page_count")).scalar_one())
    await db.write(lambda c: c.execute(text(f"PRAGMA max_page_count={pages}")))

    def big(c: Connection) -> None:
        add(2)(c)
        c.execute(insert(PART), {"of": 2, "body": "x" * 100_000})

    with pytest.raises(Unavailable, match=r"can't take this now \(database or disk is full\)"):
        await db.write(big)
    assert await ids(db) == [1]
    assert await db.read(lambda c: c.execute(select(PART)).all()) == []
    assert await db.write(add(3)) == 3, "the writer goes on"


async def test_a_failure_of_the_engine_ends_a_group_as_a_whole(db: Database) -> None:
    go_on = threading.Event()
    first = asyncio.create_task(db.write(lambda _c: go_on.wait(20)))
    broken = [add(1), lambda c: c.execute(text("SELECT * FROM nowhere")), add(2)]
    group = [asyncio.create_task(db.write(fn)) for fn in broken]
    await asyncio.sleep(0)
    go_on.set()
    done = await asyncio.gather(first, *group, return_exceptions=True)
    assert [type(each) for each in done[1:]] == [Unavailable] * 3
    assert await ids(db) == [], "whom it told no, it did nothing for"


async def test_a_read_that_fails_is_our_error_and_the_next_one_works(db: Database) -> None:
    def broken(c: Connection) -> Any:
        return c.execute(text("SELECT * FROM nowhere")).all()

    for ask in (db.read, db.glance):
        with pytest.raises(Unavailable, match="no such table: nowhere"):
            await ask(broken)
        assert await ask(lambda c: c.execute(select(ACCOUNT)).all()) == []


async def test_it_closes_after_what_was_asked_and_opens_again(path: Path) -> None:
    db = Database(tables(f"sqlite:///{path}", METADATA), lambda: None)
    asked = [asyncio.create_task(db.write(add(n))) for n in range(10)]
    await asyncio.sleep(0)
    await db.close()
    assert await asyncio.gather(*asked) == list(range(10))
    again = Database(tables(f"sqlite:///{path}", METADATA), lambda: None)
    assert await ids(again) == list(range(10))
    await again.close()


async def test_a_commit_is_flushed_and_the_file_checks_itself(db: Database) -> None:
    def pragma(name: str) -> Callable[[Connection], Any]:
        return lambda c: c.execute(text(f"PRAGMA {name}")).scalar_one()

    names = ("journal_mode", "synchronous", "foreign_keys", "recursive_triggers")
    for ask in (db.write, db.read):
        assert [await ask(pragma(name)) for name in names] == ["wal", 2, 1, 1]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("", "''"),
        ("grants.db", "''"),
        ("mysql://u:FIXTURE-pw@h/d", "'mysql'"),
        ("postgresql://u:FIXTURE-pw@h/d", "'postgresql'"),
        ("FIXTURE-pw@h", "''"),
    ],
)
async def test_a_database_of_another_kind_is_named_without_its_password(
    url: str, named: str
) -> None:
    with pytest.raises(
        ValueError, match=f"of the kind {named}: STYX_DATABASE_URL begins with sqlite"
    ) as no:
        Database(url, lambda: None)
    assert "FIXTURE" not in str(no.value)


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=-11, minutes=-30))])))
def test_times_come_back_as_the_same_moment_in_utc(at: datetime) -> None:
    engine = create_engine("sqlite://")
    Moments.metadata.create_all(engine)
    table = Moments.metadata.tables["moment"]
    with engine.begin() as c:
        c.execute(insert(table), {"id": 1, "at": at})
        read = c.execute(select(table.c.at)).scalar_one()
    engine.dispose()
    assert read == at
    assert read.tzinfo is UTC


async def test_a_time_without_a_zone_is_refused() -> None:
    engine = create_engine("sqlite://")
    Moments.metadata.create_all(engine)
    naive = datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    with engine.begin() as c, pytest.raises(StatementError):
        c.execute(insert(Moments.metadata.tables["moment"]), {"id": 1, "at": naive})
    engine.dispose()
