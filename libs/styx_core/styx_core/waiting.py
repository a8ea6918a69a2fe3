"""Holding a caller until its request is decided, or its question answered.

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


class Waiting:
    """The callers that one process holds."""

    def __init__(self, service: str) -> None:
        self._service = service
        self._held: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._draining = asyncio.Event()

    async def start(self, bus: Bus) -> None:
        """Hear decisions and ends."""
        for kind in ("grants.grant_decided", "grants.grant_ended", "broker.question_answered"):
            await bus.listen(f"{VERSION}.evt.{kind}", self._heard)

    def drain(self) -> None:
        """The process is about to stop: every wait ends now, its request stays open."""
        self._draining.set()
        for events in self._held.values():
            for event in events:
                event.set()

    async def until(
        self,
        grant_id: str,
        seconds: float,
        ask: Callable[[], Awaitable[T]],
        settled: Callable[[T], bool],
    ) -> AsyncIterator[T]:
        """Yield each answer of `ask`, at least every 15 s, until one is settled or time is up."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        with self._hold(grant_id) as woken:
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
    def _hold(self, grant_id: str) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        self._held[grant_id].add(woken)
        WAITING.labels(self._service).inc()
        try:
            yield woken
        finally:
            WAITING.labels(self._service).dec()
            self._held[grant_id].discard(woken)
            if not self._held[grant_id]:
                del self._held[grant_id]

    def wake(self, grant_id: str) -> None:
        """Have who waits for this ask again: it was decided here, the word is still under way."""
        for woken in self._held.get(grant_id, ()):
            woken.set()

    def _heard(self, _subject: str, body: bytes) -> None:
        told = json.loads(body)
        self.wake(told.get("question_id") or told.get("grant_id") or "")
