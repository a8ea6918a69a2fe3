"""For tests: databases with their tables, and the bus.

The bus is on one event loop and without a server, and behaves as `bus.NatsBus` does.

One suite of tests holds both to the same behaviour. Bodies cross as JSON, faults through
`dispatch.answer`, and a service may only say and hear what the contract lets it.
"""

import asyncio
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from sqlalchemy import MetaData, make_url

from styx_core import telemetry
from styx_core.bus import Bus, Delivery
from styx_core.contract.base import Command, Fault, Message
from styx_core.contract.rights import (
    DURABLES,
    check_hear,
    check_say,
    covers,
    entry_subject,
    next_subject,
)
from styx_core.db import writing
from styx_core.dispatch import Handler, answer, encoded
from styx_core.errors import TimedOut, Unavailable, from_wire
from styx_core.migrate.running import migrate
from styx_core.schema import Schema

R = TypeVar("R", bound=Message)


def migrated(schema: Schema, url: str) -> str:
    """The URL of a database that has a service's tables: a SQLite file is made once and copied."""
    file = make_url(url).database
    if not url.startswith("sqlite"):
        migrate(schema, url)
    elif file and not Path(file).exists():
        Path(file).write_bytes(_made(schema))
    return url


@cache
def _made(schema: Schema) -> bytes:
    with TemporaryDirectory() as folder:
        file = Path(folder, "made.db")
        migrate(schema, f"sqlite:///{file}")
        return file.read_bytes()


def tables(url: str, metadata: MetaData) -> str:
    """The URL of a database that has these tables, which are of no service."""
    engine = writing(url)
    metadata.create_all(engine)
    engine.dispose()
    return url


@dataclass
class Stored:
    """An event in the stream."""

    subject: str
    event_id: str
    body: bytes
    seq: int
    trace: str


@dataclass
class Durable:
    """How far a durable consumer is: what it took and when that comes again, and what is done."""

    again_at: dict[int, float] = field(default_factory=dict)
    acked: set[int] = field(default_factory=set)


class MemoryBus:
    """The server's part. `as_service` is the view that a service gets.

    `ack_seconds`: an event that was delivered and not acknowledged in this time comes again.
    Set `away` and every view answers as if the server were gone.
    """

    def __init__(self, ack_seconds: float = 30.0) -> None:
        self.away = False
        self.stream: list[Stored] = []
        self.entries: dict[str, bytes] = {}
        self.ack_seconds = ack_seconds
        self.servers: dict[str, list[MemoryService]] = {}
        self.listeners: list[tuple[MemoryService, str, Callable[[str, bytes], None]]] = []
        self.durables: dict[str, Durable] = {name: Durable() for name in DURABLES}
        self.grown = asyncio.Condition()
        self._turn = itertools.count()

    def as_service(self, name: str) -> "MemoryService":
        """A connection as this service's user."""
        return MemoryService(self, name)

    def one_of(self, subject: str) -> "MemoryService | None":
        """The member of the queue group whose turn it is, if any is there."""
        members = self.servers.get(subject, [])
        return members[next(self._turn) % len(members)] if members else None

    async def store(self, event: Stored) -> None:
        """Append unless its id is known; whoever listens hears it either way, as on NATS."""
        if all(known.event_id != event.event_id for known in self.stream):
            event.seq = len(self.stream) + 1
            self.stream.append(event)
        for _view, pattern, hear in list(self.listeners):
            if covers(pattern, event.subject):
                asyncio.get_running_loop().call_soon(hear, event.subject, event.body)
        async with self.grown:
            self.grown.notify_all()

    def take(self, name: str, most: int, now: float) -> list[Stored]:
        """The next events for a durable consumer, those that are due again among them."""
        durable = self.durables[name]
        ready = [
            event
            for event in self.stream
            if event.seq not in durable.acked
            and durable.again_at.get(event.seq, now) <= now
            and any(covers(pattern, event.subject) for pattern in DURABLES[name])
        ][:most]
        durable.again_at |= {event.seq: now + self.ack_seconds for event in ready}
        return ready


class MemoryDelivery:
    """One event from a durable consumer."""

    def __init__(self, event: Stored, durable: Durable) -> None:
        self.subject, self.body = event.subject, event.body
        self.seq, self.trace = event.seq, event.trace
        self._durable = durable

    async def ack(self) -> None:
        """See `bus.Delivery`."""
        self._durable.acked.add(self.seq)


class MemoryService(Bus):
    """A service's own connection."""

    def __init__(self, server: MemoryBus, name: str) -> None:
        self._server, self._name, self._closed = server, name, False
        self._handlers: dict[str, tuple[type[Command[Any]], Handler]] = {}

    async def request(self, command: Command[R], deadline: float | None = None) -> R:
        """See `Bus.request`."""
        kind = type(command)
        check_say(self._name, kind.subject)
        self._check_up()
        body = encoded(command)
        served = self._server.one_of(kind.subject)
        if served is None:
            raise Unavailable(f"{kind.owner} is not running; nothing was done")
        seconds = kind.deadline if deadline is None else deadline
        carrier: dict[str, str] = {}
        telemetry.carry(carrier)
        trace = carrier.get("traceparent", "")
        # The handler goes on when its caller leaves, as a message that was sent does.
        work = asyncio.ensure_future(answer(*served._handlers[kind.subject], body, trace, seconds))
        try:
            async with asyncio.timeout(seconds):  # `wait_for` can lose its caller's cancellation
                reply = await asyncio.shield(work)
        except TimeoutError:
            raise TimedOut(f"{kind.owner} did not answer within {seconds:g} s") from None
        if isinstance(reply, Fault):
            raise from_wire(reply.code, reply.detail)
        return kind.reply.model_validate_json(reply.model_dump_json())  # type: ignore[return-value]

    async def serve(self, service: str, handlers: Mapping[type[Command[Any]], Handler]) -> None:
        """See `Bus.serve`."""
        for kind, handler in handlers.items():
            check_hear(self._name, kind.subject)
            self._handlers[kind.subject] = (kind, handler)
            self._server.servers.setdefault(kind.subject, []).append(self)

    async def publish(self, subject: str, event_id: str, body: bytes, trace: str = "") -> None:
        """See `Bus.publish`."""
        check_say(self._name, subject)
        self._check_up()
        await self._server.store(Stored(subject, event_id, body, 0, trace))

    async def fetch(self, service: str, most: int, seconds: float) -> list[Delivery]:
        """See `Bus.fetch`."""
        check_say(self._name, next_subject(service))
        self._check_up()
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while not (events := self._server.take(service, most, loop.time())):
            left = end - loop.time()
            if left <= 0:
                return []
            await self._grown(min(left, self._server.ack_seconds / 4))
        return [MemoryDelivery(event, self._server.durables[service]) for event in events]

    async def _grown(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds), self._server.grown:
                await self._server.grown.wait()
        except TimeoutError:
            return

    async def listen(self, pattern: str, hear: Callable[[str, bytes], None]) -> None:
        """See `Bus.listen`."""
        check_hear(self._name, pattern)
        self._server.listeners.append((self, pattern, hear))

    async def catalog_put(self, key: str, value: bytes) -> None:
        """See `Bus.catalog_put`."""
        check_say(self._name, entry_subject(key))
        self._check_up()
        self._server.entries[key] = value

    async def catalog_get(self, key: str) -> bytes | None:
        """See `Bus.catalog_get`."""
        self._check_up()
        return self._server.entries.get(key)

    def connected(self) -> bool:
        """See `Bus.connected`."""
        return not (self._closed or self._server.away)

    async def close(self) -> None:
        """See `Bus.close`."""
        self._closed = True
        for members in self._server.servers.values():
            members[:] = [member for member in members if member is not self]
        self._server.listeners[:] = [one for one in self._server.listeners if one[0] is not self]

    def _check_up(self) -> None:
        if not self.connected():
            raise Unavailable("the bus is away; try again")
