"""What `broker`'s routes and handlers work with."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from styx_core.bus import Bus
from styx_core.catalog import Catalog
from styx_core.db import Database
from styx_core.outbox import Outbox
from styx_core.ratelimit import RateLimit
from styx_core.settings import Settings
from styx_core.waiting import Waiting

from styx_broker.live import Live

if TYPE_CHECKING:
    from styx_broker.oidc import RelyingParty


@dataclass
class Deps:
    """The service's edges."""

    bus: Bus
    db: Database
    outbox: Outbox
    catalog: Catalog
    waiting: Waiting
    live: Live
    limits: RateLimit
    settings: Settings
    now: Callable[[], datetime]
    oidc: "RelyingParty | None" = None
