"""The outbox: an event is committed with the state it tells of, then relayed to the stream.

`record` is called inside the transaction that changes the state. The relay publishes with
`Nats-Msg-Id` (the event's id), so that an event sent twice lands once, and deletes a row only after
the stream's acknowledgement: whatever dies in between, the event is neither lost nor doubled.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    Row,
    String,
    Table,
    Text,
    bindparam,
    delete,
    func,
    select,
)
from sqlalchemy.exc import SQLAlchemyError

from styx_core import telemetry
from styx_core.bus import Bus
from styx_core.contract.base import Event
from styx_core.db import Database, by, into
from styx_core.errors import StyxError, Unrecorded, reason

log = structlog.get_logger()

BATCH = 100
RETRY_SECONDS = 0.5
GATHER_SECONDS = 0.005
"""Time for events to come together, while nobody waits for one: the caller's reply goes first."""


def outbox_table(metadata: MetaData) -> Table:
    """The outbox of one service's database."""
    return Table(
        "outbox",
        metadata,
        Column("seq", Integer, primary_key=True, autoincrement=True),
        Column("event_id", String, nullable=False, unique=True),
        Column("subject", String, nullable=False),
        Column("body", Text, nullable=False),
        Column("trace", String, nullable=False, default=""),
        sqlite_autoincrement=True,
    )


class Outbox:
    """Records events with their state, and relays them."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._delete = delete(table).where(table.c.seq == bindparam("done"))
        self._count = select(func.count()).select_from(table)
        self._first = select(table).order_by(table.c.seq).limit(BATCH)
        self._wake, self._hurry = asyncio.Event(), asyncio.Event()
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self.lag: Callable[[int], None] = lambda _count: None

    def record(self, connection: Connection, event: Event) -> str:
        """Add an event to the transaction under way; returns its id."""
        carrier: dict[str, str] = {}
        telemetry.carry(carrier)
        connection.execute(
            into(self.table),
            {
                "event_id": event.id,
                "subject": type(event).subject,
                "body": event.model_dump_json(),
                "trace": carrier.get("traceparent", ""),
            },
        )
        return event.id

    def wake(self) -> None:
        """Called after a commit, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closing: the next start relays
            self._loop.call_soon_threadsafe(self._wake.set)

    async def durable(self, db: Database, event_id: str, seconds: float) -> None:
        """Wait until the stream holds a committed event. Raises `Unrecorded`."""
        future = self._loop.create_future()
        self._waiting.setdefault(event_id, set()).add(future)
        try:
            self._hurry.set()
            if await db.glance(lambda c: self.pending(c, event_id)):
                async with asyncio.timeout(seconds):
                    await future
        except TimeoutError:
            raise Unrecorded(
                "the event stream did not confirm the record, so nothing was issued; try again"
            ) from None
        finally:
            self._waiting[event_id].discard(future)
            if not self._waiting[event_id]:
                del self._waiting[event_id]

    def pending(self, connection: Connection, event_id: str) -> bool:
        """Whether an event recorded earlier still waits for the stream's confirmation."""
        query = by(self.table.c.event_id)
        return connection.execute(query, {"value": event_id}).first() is not None

    def start(self, db: Database, bus: Bus) -> None:
        """Begin to relay; what an earlier process left behind goes first."""
        self._wake.set()
        self._task = asyncio.create_task(self._relay(db, bus))

    async def stop(self) -> None:
        """Stop relaying; what is left stays in the table."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _relay(self, db: Database, bus: Bus) -> None:
        while True:
            await self._wake.wait()
            # `wait_for` of Python 3.11 loses a `stop` that comes just as its wait ends
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GATHER_SECONDS):
                    await self._hurry.wait()
            self._wake.clear()
            self._hurry.clear()
            try:
                while await self._relay_batch(db, bus):
                    pass
            except (StyxError, SQLAlchemyError) as error:
                log.warning("events wait in the outbox", reason=reason(error))
                await asyncio.sleep(RETRY_SECONDS)
                self._wake.set()

    def _confirm(self, rows: Sequence[Row[Any]]) -> None:
        for row in rows:
            for future in self._waiting.get(row.event_id, ()):
                if not future.done():
                    future.set_result(None)

    def _left(self, connection: Connection) -> int:
        return connection.execute(self._count).scalar_one()

    async def _relay_batch(self, db: Database, bus: Bus) -> int:
        rows = await db.glance(lambda c: c.execute(self._first).all())
        if not rows:
            self.lag(0)
            return 0
        many = len(rows) == BATCH
        self.lag(await db.glance(self._left) if many else len(rows))
        sent = await asyncio.gather(
            *(bus.publish(r.subject, r.event_id, r.body.encode(), r.trace) for r in rows),
            return_exceptions=True,
        )
        fine = [row for row, error in zip(rows, sent, strict=True) if error is None]
        self._confirm(fine)
        if fine:
            done = [{"done": row.seq} for row in fine]
            await db.write(lambda c: c.execute(self._delete, done).rowcount)
            self._confirm(fine)  # for who began to wait, and saw the row, in between
        failed = next((error for error in sent if error is not None), None)
        if failed is not None:
            raise failed
        return len(rows)
