"""The team's database: the same transactions, outbox, grants and audit rows on PostgreSQL."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, String, Table, insert, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError
from stack_fixture import until
from styx_audit import repository as audit_repo
from styx_audit.models import SCHEMA as AUDIT
from styx_audit.models import TABLES
from styx_core.contract.broker import TaskStarted
from styx_core.db import Database
from styx_core.errors import StyxError, Unavailable
from styx_core.ids import new_id
from styx_core.outbox import Outbox, outbox_table
from styx_core.testing import MemoryBus, migrated, tables

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


async def test_a_transaction_is_whole_or_nothing_and_many_run_at_once(database_url: str) -> None:
    metadata = MetaData()
    table = Table("n", metadata, Column("id", Integer, primary_key=True), Column("t", String))
    commits: list[int] = []
    db = Database(tables(database_url, metadata), lambda: commits.append(1))

    def add(number: int, fails: bool = False) -> Any:
        def run(c: Any) -> int:
            c.execute(insert(table), {"id": number, "t": "x"})
            if fails:
                raise Unavailable("FIXTURE")
            return number

        return run

    async def count() -> int:
        return await db.read(lambda c: len(c.execute(select(table)).all()))

    done = await asyncio.gather(*(db.write(add(n)) for n in range(50)))
    assert done == list(range(50))
    with pytest.raises(Unavailable, match="FIXTURE"):
        await db.write(add(99, fails=True))
    with pytest.raises(IntegrityError):
        await db.write(add(1))
    assert await count() == 50
    assert len(commits) == 50
    assert await db.write(add(100)) == 100, "a writer outlives what its jobs raise"
    await db.close()


async def test_the_outbox_relays_what_was_committed_once_and_in_order(database_url: str) -> None:
    metadata, bus = MetaData(), MemoryBus()
    outbox = Outbox(outbox_table(metadata))
    db = Database(tables(database_url, metadata), outbox.wake)
    bus.away = True
    outbox.start(db, bus.as_service("broker"))
    ids = [await db.write(lambda c, n=n: outbox.record(c, started(n))) for n in range(5)]
    with pytest.raises(StyxError):
        await outbox.durable(db, ids[0], 0.05)
    bus.away = False
    outbox.wake()
    await outbox.durable(db, ids[-1], 10)
    assert [event.event_id for event in bus.stream] == ids
    await until(lambda: _empty(db, outbox))
    await outbox.stop()
    await db.close()


async def _empty(db: Database, outbox: Outbox) -> bool:
    return await db.read(lambda c: c.execute(select(outbox.table)).first() is None)


def started(number: int) -> TaskStarted:
    return TaskStarted(
        id=new_id("evt"),
        at=datetime.now(UTC),
        actor="ada",
        agent="a",
        person="ada",
        name=f"{number}",
    )


async def test_the_audit_log_grows_and_never_changes(database_url: str) -> None:
    db = Database(migrated(AUDIT, database_url), lambda: None)
    events = [{"id": f"evt_{n}", "at": "2030", "kind": "k", "actor": "a"} for n in range(7)]
    head = await db.read(audit_repo.head)
    head, new = await db.write(lambda c: audit_repo.append(c, head, events))
    assert (head.size, new) == (7, 7)
    again, new = await db.write(lambda c: audit_repo.append(c, head, events))
    assert (again.root(), new) == (head.root(), 0)
    assert (await db.read(audit_repo.head)).root() == head.root()
    await db.write(lambda c: audit_repo.save_checkpoint(c, 7, "FIXTURE-note"))
    changes = {"entry": "body = ''", "node": "hash = ''", "checkpoint": "note = ''"}
    for table in TABLES:
        for change in (f"UPDATE {table} SET {changes[table]}", f"DELETE FROM {table}",
                       f"TRUNCATE {table}"):  # fmt: skip
            with pytest.raises(DBAPIError, match="append-only"):
                await db.write(lambda c, q=change: c.execute(text(q)))
    assert len(await db.read(lambda c: list(audit_repo.bodies(c, 7)))) == 7
    await db.close()
