"""What the tools work with."""

from dataclasses import dataclass

from styx_core.bus import Bus
from styx_core.catalog import Catalog
from styx_core.ratelimit import RateLimit
from styx_core.waiting import Waiting

LONGEST_HOLD = 240
"""Seconds: the strictest client that waits at all gives a call up after 300."""


@dataclass(frozen=True)
class Deps:
    """The gateway's edges. It keeps nothing: any replica can answer any call."""

    bus: Bus
    catalog: Catalog
    waiting: Waiting
    limits: RateLimit
    public_url: str = ""
    hold_seconds: float = LONGEST_HOLD
