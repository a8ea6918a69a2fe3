"""Holding a caller until its request is decided, its question answered, or its task told more.

A decision is a row in `grants`; hearing of it only wakes who waits. So a waiter subscribes first,
then asks once, and asks again now and then: a lost wake-up costs seconds, never an answer. Ending
a wait ends nothing else: the request stays open.
"""

import asyncio
import contextlib
import json
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from styx_core.bus import Bus
from styx_core.contract.base import VERSION
from styx_core.telemetry import WAITING

T = TypeVar("T")

REASK_SECONDS = 15.0
WOKEN_BY = {
    f"{VERSION}.evt.grants.grant_decided": "grant_id",
    f"{VERSION}.evt.grants.grant_ended": "grant_id",
    f"{VERSION}.evt.broker.question_answered": "question_id",
    f"{VERSION}.evt.broker.message_sent": "to",
    f"{VERSION}.evt.broker.task_told": "task_id",
}
"""An event, and its field that names what is waited for."""


class Waiting:
    """The callers that one process holds."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._held: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._draining = asyncio.Event()

    async def start(self, bus: Bus) -> None:
        """Hear what ends a wait."""
        for subject in WOKEN_BY:
            await bus.listen(subject, self._heard)

    def drain(self) -> None:
        """The process is about to stop: every wait ends now, its request stays open."""
        self._draining.set()
        for events in self._held.values():
            for event in events:
                event.set()

    async def until(
        self,
        key: str,
        seconds: float,
        ask: Callable[[], Awaitable[T]],
        settled: Callable[[T], bool],
    ) -> AsyncIterator[T]:
        """Yield each answer of `ask`, at least every 15 s, until one is settled or time is up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        with self._hold(key) as woken:
            while True:
                woken.clear()
                answer = await ask()
                yield answer
                left = end - loop.time()
                if settled(answer) or left <= 0 or self._draining.is_set():
                    return
                with contextlib.suppress(TimeoutError):
                    # Not `wait_for`: before Python 3.12 it can lose its caller's cancellation.
                    async with asyncio.timeout(min(left, REASK_SECONDS)):
                        await woken.wait()

    @contextmanager
    def _hold(self, key: str) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        self._held[key].add(woken)
        WAITING.labels(self._service).inc()
        try:
            yield woken
        finally:
            WAITING.labels(self._service).dec()
            self._held[key].discard(woken)
            if not self._held[key]:
                del self._held[key]

    def wake(self, key: str) -> None:
        """Have who waits for this ask again: it was decided here, the word is still under way."""
        for woken in self._held.get(key, ()):
            woken.set()

    def _heard(self, subject: str, body: bytes) -> None:
        self.wake(json.loads(body).get(WOKEN_BY[subject]) or "")
