"""What a service looks at again and again by itself: a task for each, which no fault ends."""

import asyncio
import contextlib
from typing import ClassVar, Generic, TypeVar

import structlog
from sqlalchemy.exc import SQLAlchemyError

from styx_core.errors import StyxError, reason

log = structlog.get_logger()

D = TypeVar("D")


class Watch(Generic[D]):
    """Takes a look, waits until woken or a while, and takes the next."""

    seconds: ClassVar[float]
    """Longest time between two looks."""

    def __init__(self, deps: D) -> None:
        self._deps = deps
        self._woken = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with a look at once."""
        self._task = asyncio.create_task(self._run())

    def wake(self) -> None:
        """Look again as soon as the look under way is over."""
        self._woken.set()

    async def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def once(self) -> None:
        """One look."""
        raise NotImplementedError

    async def _run(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self.once()
            except (StyxError, SQLAlchemyError) as error:
                log.warning("could not look", watch=type(self).__name__, reason=reason(error))
            # Not `wait_for`: before Python 3.12 it can lose its caller's cancellation.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.seconds):
                    await self._woken.wait()
