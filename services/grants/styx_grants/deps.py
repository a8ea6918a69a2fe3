"""What `grants`' handlers work with, wired in one place."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from styx_core.bus import Bus
from styx_core.catalog import Catalog
from styx_core.db import Database
from styx_core.outbox import Outbox

from styx_grants.deadlines import steady
from styx_grants.passkeys import RelyingParty


class SteadyClock:
    """Wall time that never steps back: a clock set back must not prolong a grant."""

    def __init__(self, wall: Callable[[], datetime]) -> None:
        self._wall = wall
        self._seen = wall()
        self._at = time.monotonic()

    def __call__(self) -> datetime:
        """The time to judge by, aware UTC."""
        at = time.monotonic()
        self._seen = steady(self._wall(), self._seen, timedelta(seconds=at - self._at))
        self._at = at
        return self._seen


@dataclass
class Deps:
    """The service's edges."""

    bus: Bus
    db: Database
    outbox: Outbox
    catalog: Catalog
    now: Callable[[], datetime]
    party: RelyingParty
    record_seconds: float = field(default=3.0)
    """How long an issue waits for the stream to confirm its record."""
