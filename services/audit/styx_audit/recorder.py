"""The recorder: every event of the stream becomes an entry, once, in the order it came.

An event is acknowledged only after its entry is committed, so a crash or a full disk delays entries
and loses none; one that comes twice is known by its id. What isn't an event of the contract, as its
own subject says it, is recorded as refused: a log that drops what it doesn't like proves nothing.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy.exc import IntegrityError
from styx_core.bus import Bus, Delivery
from styx_core.contract.base import EVENTS, VERSION
from styx_core.db import Database
from styx_core.errors import StyxError
from styx_core.telemetry import AUDIT_SIZE

from styx_audit import repository as repo
from styx_audit.merkle import Frontier

log = structlog.get_logger()

BATCH = 200
WAIT_SECONDS = 1.0
RETRY_SECONDS = 0.5
GATHER_SECONDS = 0.05
"""Time for events to come together: a fetch and a commit cost the same for one and for many."""


class Recorder:
    """Reads the stream into the log."""

    def __init__(self, bus: Bus, db: Database) -> None:
        self._bus, self._db = bus, db
        self._head: Frontier | None = None
        self._arrived: list[Delivery] = []
        self._task: asyncio.Task[None] | None = None
        self.recording = True

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; what isn't recorded stays in the stream."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _run(self) -> None:
        try:
            while True:
                await self._try()
        finally:
            self.recording = False  # whatever ended it, this service isn't ready

    async def _try(self) -> None:
        try:
            new = await self.once()
            self.recording = True
            if new < BATCH:
                await asyncio.sleep(GATHER_SECONDS)
        except (StyxError, IntegrityError) as error:
            # Where another replica was faster, its entries are the truth: read them and go on.
            self.recording = False
            log.warning("events wait in the stream", reason=_reason(error))
            await asyncio.sleep(RETRY_SECONDS)

    async def once(self) -> int:
        """Record what waits; returns how many entries were new.

        What could not be committed is kept for the next try: the stream would send it again only
        after its own, longer wait.
        """
        self._arrived = self._arrived or await self._bus.fetch("audit", BATCH, WAIT_SECONDS)
        if not self._arrived:
            return 0
        new = await self.record(self._arrived)
        for delivery in self._arrived:
            await delivery.ack()
        self._arrived = []
        return new

    async def record(self, arrived: Sequence[Delivery]) -> int:
        """Commit entries for these deliveries."""
        if self._head is None:
            self._head = await self._db.read(repo.head)
        head, events = self._head, [entry_of(each.subject, each.body) for each in arrived]
        self._head = None  # until the commit is known, the stored nodes are the truth
        after, new = await self._db.write(lambda c: repo.append(c, head, events))
        self._head = after
        AUDIT_SIZE.set(after.size)
        return new


def _reason(error: Exception) -> str:
    return error.detail if isinstance(error, StyxError) else type(error).__name__


def entry_of(subject: str, body: bytes) -> dict[str, Any]:
    """The entry for what stood in the stream."""
    kind = EVENTS.get(subject)
    try:
        if kind is None:
            raise ValueError("not an event of the contract")
        event = kind.model_validate_json(body).model_dump(mode="json")
        return {**event, "kind": subject.removeprefix(f"{VERSION}.evt.")}
    except (ValidationError, ValueError):
        return _refused(subject, body)


def _refused(subject: str, body: bytes) -> dict[str, Any]:
    """What can't be an event: kept by its hash, since it may hold anything."""
    digest = hashlib.sha256(body).hexdigest()
    return {
        "id": f"refused-{digest}",
        "at": "",
        "kind": "audit.refused",
        "actor": subject[:200],
        "sha256": digest,
        "bytes": len(body),
    }
