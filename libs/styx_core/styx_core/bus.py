"""The bus: typed commands and events over NATS. The only file that imports nats.

Commands are request/reply in queue groups, announced through NATS's service API, each with a
deadline and trace context in its headers; only `Fault`s of our own errors cross back. Events are
facts on JetStream: published with an id and acknowledged, read by durable pull consumers.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import nats
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import NoRespondersError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import Error as JsError
from nats.js.errors import KeyNotFoundError
from nats.micro import add_service
from nats.micro.request import Request
from nats.micro.service import EndpointConfig, ServiceConfig

from styx_core import telemetry
from styx_core.contract.base import Command, Fault, Message, snake
from styx_core.contract.rights import (
    CATALOG,
    STREAM,
    check_hear,
    check_say,
    entry_subject,
    inbox,
    next_subject,
)
from styx_core.dispatch import Handler, answer, encoded
from styx_core.errors import TimedOut, Unavailable, from_wire

log = structlog.get_logger()

R = TypeVar("R", bound=Message)

DEADLINE = "Styx-Deadline"
FAULT = "Styx-Fault"
IN_PARALLEL = 256
"""Commands that one service works on at once; more wait in NATS's buffer."""
PUBLISH_SECONDS, BLINK_SECONDS = 3.0, 2.0
"""Longest waits: for the stream's word, and of a command for a connection that was lost."""


class Bus(Protocol):
    """What services see of the bus; `testing.MemoryBus` is the same on one loop."""

    async def request(self, command: Command[R], deadline: float | None = None) -> R:
        """The owner's reply. Raises the owner's error, `Unavailable`, `TimedOut` or `Forbidden`."""
        ...

    async def serve(self, service: str, handlers: Mapping[type[Command[Any]], Handler]) -> None:
        """Answer these commands until the bus closes."""
        ...

    async def publish(self, subject: str, event_id: str, body: bytes, trace: str = "") -> None:
        """Add an event to the stream; returns once it is stored.

        Raises `Unavailable`, or `Forbidden` for an event of another service.
        """
        ...

    async def fetch(self, service: str, most: int, seconds: float) -> "list[Delivery]":
        """Up to `most` events for the service's durable consumer; empty when none came in time."""
        ...

    async def listen(self, pattern: str, hear: Callable[[str, bytes], None]) -> None:
        """Hear events as they happen, unreliably: for waking who waits, never for records."""
        ...

    async def catalog_put(self, key: str, value: bytes) -> None:
        """Publish a catalog entry."""
        ...

    async def catalog_get(self, key: str) -> bytes | None:
        """A catalog entry, or None."""
        ...

    def connected(self) -> bool:
        """Whether the bus answers now."""
        ...

    async def close(self) -> None:
        """Finish what is under way, then leave."""
        ...


class Delivery(Protocol):
    """One event from a durable consumer, with its place in the stream."""

    subject: str
    body: bytes
    seq: int
    trace: str

    async def ack(self) -> None:
        """This event is recorded; don't send it again."""
        ...


class NatsDelivery:
    """A JetStream message."""

    def __init__(self, msg: Msg) -> None:
        self._msg = msg
        self.subject = msg.subject
        self.body = msg.data
        self.seq = msg.metadata.sequence.stream
        self.trace = (msg.headers or {}).get("traceparent", "")

    async def ack(self) -> None:
        """Acknowledge, without waiting for the server's word: a redelivery is harmless."""
        await self._msg.ack()


class NatsBus:
    """A service's own connection, as its own NATS user."""

    def __init__(self, client: Client, service: str) -> None:
        self._client = client
        self._js = client.jetstream(timeout=PUBLISH_SECONDS)
        self._service = service
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(IN_PARALLEL)
        self._pull: Any = None

    @classmethod
    async def connect(cls, url: str, service: str, nkey_seed: str) -> "NatsBus":
        """Connect as the service's user; raises `Unavailable` after five seconds."""

        async def said(error: Exception) -> None:
            log.warning("bus", service=service, error=str(error) or type(error).__name__)

        try:
            client = await asyncio.wait_for(
                nats.connect(
                    url,
                    name=service,
                    nkeys_seed_str=nkey_seed,
                    inbox_prefix=inbox(service).encode(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.2,
                    ping_interval=5,
                    error_cb=said,
                ),
                5,
            )
        except (TimeoutError, OSError, NatsError) as error:
            raise Unavailable(f"the bus at {url} does not answer; is nats-server up?") from error
        return cls(client, service)

    async def request(self, command: Command[R], deadline: float | None = None) -> R:
        """See `Bus.request`."""
        kind = type(command)
        check_say(self._service, kind.subject)
        seconds = kind.deadline if deadline is None else deadline
        await self._connected()
        with telemetry.span(f"send {kind.subject}"):
            headers = {DEADLINE: str(int((time.time() + seconds) * 1000))}
            telemetry.carry(headers)
            try:
                msg = await self._client.request(
                    kind.subject, encoded(command), seconds, headers=headers
                )
            except NoRespondersError:
                raise Unavailable(f"{kind.owner} is not running; nothing was done") from None
            except (NatsTimeout, TimeoutError):
                raise TimedOut(f"{kind.owner} did not answer within {seconds:g} s") from None
            except NatsError as error:
                raise Unavailable(f"the bus is away ({type(error).__name__}); try again") from error
        if msg.headers and FAULT in msg.headers:
            fault = Fault.model_validate_json(msg.data)
            raise from_wire(fault.code, fault.detail)
        return kind.reply.model_validate_json(msg.data)  # type: ignore[return-value]

    async def _connected(self) -> None:
        """Wait a moment for a lost connection; its client would send the command, but late."""
        if self._client.is_connected:
            return
        try:
            async with asyncio.timeout(BLINK_SECONDS):
                while not self._client.is_connected:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise Unavailable("the bus is away, so nothing was asked; try again") from None

    async def serve(self, service: str, handlers: Mapping[type[Command[Any]], Handler]) -> None:
        """See `Bus.serve`."""
        for kind in handlers:
            check_hear(self._service, kind.subject)
        running = await add_service(
            self._client, ServiceConfig(name=service, version="0.1.0", queue_group=service)
        )
        for kind, handler in handlers.items():
            await running.add_endpoint(
                EndpointConfig(
                    name=snake(kind.__name__),
                    subject=kind.subject,
                    handler=self._endpoint(kind, handler),
                )
            )

    def _endpoint(
        self, kind: type[Command[Any]], handler: Handler
    ) -> Callable[[Request], Awaitable[None]]:
        async def take(request: Request) -> None:
            # NATS calls back one message at a time: hand over, so that handlers run side by side.
            await self._room.acquire()
            task = asyncio.create_task(self._answer(request, kind, handler))
            self._tasks.add(task)
            task.add_done_callback(self._finished)

        return take

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._room.release()
        self._tasks.discard(task)

    async def _answer(self, request: Request, kind: type[Command[Any]], handler: Handler) -> None:
        headers = dict(request.headers or {})
        seconds = int(headers.get(DEADLINE, "0")) / 1000 - time.time()
        reply = await answer(kind, handler, request.data, headers.get("traceparent", ""), seconds)
        flag = {FAULT: reply.code} if isinstance(reply, Fault) else None
        with contextlib.suppress(NatsError):  # the caller's deadline will tell it
            await request.respond(reply.model_dump_json().encode(), flag)

    async def publish(self, subject: str, event_id: str, body: bytes, trace: str = "") -> None:
        """See `Bus.publish`."""
        check_say(self._service, subject)
        headers = {"Nats-Msg-Id": event_id} | ({"traceparent": trace} if trace else {})
        try:
            await self._js.publish(subject, body, stream=STREAM, headers=headers)
        except (NatsError, JsError, TimeoutError) as error:
            raise Unavailable(
                f"the event stream did not take {subject} as {self._service} "
                f"({type(error).__name__}): it is away, or this user may not say it"
            ) from error

    async def fetch(self, service: str, most: int, seconds: float) -> list[Delivery]:
        """See `Bus.fetch`."""
        check_say(self._service, next_subject(service))
        try:
            if self._pull is None:
                self._pull = await self._js.pull_subscribe_bind(
                    durable=service, stream=STREAM, pending_msgs_limit=most * 4
                )
            messages = await self._pull.fetch(most, timeout=seconds)
        except (NatsTimeout, TimeoutError):
            return []
        except (NatsError, JsError) as error:
            self._pull = None
            raise Unavailable("the event stream is away; events wait in it") from error
        return [NatsDelivery(msg) for msg in messages]

    async def listen(self, pattern: str, hear: Callable[[str, bytes], None]) -> None:
        """See `Bus.listen`."""
        check_hear(self._service, pattern)

        async def heard(msg: Msg) -> None:
            hear(msg.subject, msg.data)

        await self._client.subscribe(pattern, cb=heard)

    async def catalog_put(self, key: str, value: bytes) -> None:
        """See `Bus.catalog_put`."""
        check_say(self._service, entry_subject(key))
        try:
            await (await self._js.key_value(CATALOG)).put(key, value)
        except (NatsError, JsError, TimeoutError) as error:
            raise Unavailable("the catalog can't be written now; try again") from error

    async def catalog_get(self, key: str) -> bytes | None:
        """See `Bus.catalog_get`."""
        try:
            kv = await self._js.key_value(CATALOG)
            return (await kv.get(key)).value
        except KeyNotFoundError:
            return None
        except (NatsError, JsError, TimeoutError) as error:
            raise Unavailable("the catalog can't be read now; try again") from error

    def connected(self) -> bool:
        """See `Bus.connected`."""
        return bool(self._client.is_connected)

    async def close(self) -> None:
        """See `Bus.close`."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)
        with contextlib.suppress(NatsError, TimeoutError, OSError):
            await asyncio.wait_for(self._client.close(), 5)
