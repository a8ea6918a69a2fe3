"""A task's inbox on PostgreSQL, where several writers commit at once: a cursor misses nothing."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from styx_broker import handlers_board as h
from styx_broker import repository as repo
from styx_broker.models import OUTBOX, SCHEMA
from styx_broker.task_mail import put
from styx_broker.task_notices import Letter
from styx_core.contract.broker_board import ReadInbox
from styx_core.db import Database
from styx_core.ids import new_id
from styx_core.outbox import Outbox
from styx_core.testing import migrated

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
AT = datetime(2026, 1, 5, 12, tzinfo=UTC)
TASK, MANY = new_id("tsk"), 60


@pytest_asyncio.fixture(loop_scope="module")
async def deps(database_url: str) -> AsyncIterator[Any]:
    """What `put` and `read_inbox` work with, and one running task."""
    outbox = Outbox(OUTBOX)
    db = Database(migrated(SCHEMA, database_url), outbox.wake)
    about = {"agent": "a", "person": "ada", "name": "n", "token_sha256": "0" * 64}
    task = {"id": TASK, "project_id": new_id("prj"), "started_at": AT, **about}
    more = {"status": "", "retired": False}
    await db.write(lambda c: repo.add(c, repo.TASK, **task, **more))
    yield SimpleNamespace(db=db, outbox=outbox, now=lambda: AT)
    await db.close()


async def test_a_reader_beside_many_writers_misses_nothing(deps: Any) -> None:
    def letter() -> Letter:
        return Letter(TASK, "ended", "so", new_id("grt"), AT)

    async def write(event: str) -> None:
        await deps.db.write(partial(put, deps=deps, letter=letter(), event_id=event))

    async def read() -> list[str]:
        found: list[str] = []
        cursor = None
        while len(found) < MANY:
            inbox = await h.read_inbox(ReadInbox(task_id=TASK, after=cursor), deps)
            found += [item.id for item in inbox.items]
            cursor = inbox.cursor
        return found

    events = [f"evt_{number}" for number in range(MANY)]
    async with asyncio.timeout(30):
        found, *_ = await asyncio.gather(read(), *(write(e) for e in events + events))
    rows = await deps.db.read(lambda c: list(c.execute(repo.MAIL.select())))
    assert found == [row.id for row in sorted(rows, key=lambda row: row.number)]
    assert [row.number for row in sorted(rows, key=lambda r: r.number)] == list(range(1, MANY + 1))
    assert {row.event_id for row in rows} == set(events), "each once, though told twice"
