"""Rate limits: so many calls of a kind per caller and minute, in memory."""

import time
from collections.abc import Callable, Mapping

from styx_core.errors import RateLimited

MINUTE = 60.0


class RateLimit:
    """Token buckets that fill evenly over a minute; idle ones are forgotten."""

    def __init__(
        self, per_minute: Mapping[str, int], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, caller: str, kind: str, says: str) -> None:
        """Count one call. Raises `RateLimited` saying `says` ("too many access requests")."""
        most = self._per_minute.get(kind)
        if most is None:
            return
        now = self._clock()
        left, at = self._buckets.get((caller, kind), (float(most), now))
        left = min(float(most), left + (now - at) * most / MINUTE)
        if left < 1:
            raise RateLimited(f"{says}; try again in a minute")
        self._buckets[(caller, kind)] = (left - 1, now)
        if len(self._buckets) > 10_000:
            self._buckets = {k: v for k, v in self._buckets.items() if now - v[1] < MINUTE}
