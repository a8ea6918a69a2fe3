"""What `grants` looks at again and again by itself: one task for each, which a fault never ends."""

import asyncio
import contextlib
from typing import ClassVar

import structlog
from sqlalchemy.exc import SQLAlchemyError
from styx_core.errors import StyxError, reason

from styx_grants.deps import Deps

log = structlog.get_logger()


class Watch:
    """Takes a look, waits, and takes the next."""

    seconds: ClassVar[float]
    """Between two looks."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, with a look at once."""
        self._task = asyncio.create_task(self._run())

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
            try:
                await self.once()
            except (StyxError, SQLAlchemyError) as error:
                log.warning("could not look", watch=type(self).__name__, reason=reason(error))
            await asyncio.sleep(self.seconds)
