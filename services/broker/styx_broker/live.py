"""Open pages that hear of changes: a change only wakes a page, which then asks for the truth.

So a lost connection or word can leave no gap: whoever comes (back) is told to look at once, and
again now and then.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Collection
from typing import Final

from styx_core.bus import Bus
from styx_core.contract.base import VERSION

LOOK_AGAIN_SECONDS: Final = 20.0


class Feed:
    """One open page: the projects that it shows (None: all), and whether it has to look."""

    def __init__(self, projects: Collection[str] | None) -> None:
        self.projects = projects
        self.woken = asyncio.Event()


class Live:
    """The pages that one process serves."""

    def __init__(self) -> None:
        self._feeds: set[Feed] = set()
        self._draining = False

    async def start(self, bus: Bus) -> None:
        """Hear what `grants` and every replica of `broker` say."""
        for owner in ("grants", "broker"):
            await bus.listen(f"{VERSION}.evt.{owner}.>", self._heard)

    def drain(self) -> None:
        """The process is about to stop: pages reconnect to another one."""
        self._draining = True
        for feed in self._feeds:
            feed.woken.set()

    async def changes(self, projects: Collection[str] | None) -> AsyncIterator[None]:
        """Yield at once, at every change, and at least every 20 s."""
        feed = Feed(projects)
        self._feeds.add(feed)
        try:
            while not self._draining:
                feed.woken.clear()
                yield
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                        await feed.woken.wait()
        finally:
            self._feeds.discard(feed)

    def _heard(self, _subject: str, body: bytes) -> None:
        project = json.loads(body).get("project_id")
        for feed in self._feeds:
            if project is None or feed.projects is None or project in feed.projects:
                feed.woken.set()
