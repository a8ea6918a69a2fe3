"""The `grants` service, wired: bus only, no HTTP face of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from styx_core.catalog import Catalog
from styx_core.db import Database
from styx_core.dispatch import handlers_of
from styx_core.outbox import Outbox
from styx_core.service import Context, Running, Service
from styx_core.settings import web_url
from styx_core.telemetry import OUTBOX as OUTBOX_ROWS

from styx_grants import (
    handlers,
    handlers_keys,
    handlers_people,
    handlers_policies,
    handlers_signing,
)
from styx_grants.deps import Deps, SteadyClock
from styx_grants.ending import Sweeper
from styx_grants.models import OUTBOX, SCHEMA
from styx_grants.passkeys import RelyingParty
from styx_grants.refreshing import Refresher

HANDLERS = (handlers, handlers_keys, handlers_people, handlers_policies, handlers_signing)


@asynccontextmanager
async def open_grants(context: Context) -> AsyncIterator[Running]:
    """Open the service on its context."""
    outbox = Outbox(OUTBOX)
    outbox.lag = OUTBOX_ROWS.labels("grants").set
    db = Database(context.settings.database_url, outbox.wake)
    catalog = Catalog(context.bus)
    await catalog.start()
    party = RelyingParty(web_url(context.settings.public_url))
    deps = Deps(context.bus, db, outbox, catalog, SteadyClock(context.now), party)
    outbox.start(db, context.bus)
    watches = (Sweeper(deps), Refresher(deps))
    for watch in watches:
        watch.start()
    try:
        yield Running(handlers=handlers_of("grants", deps, *HANDLERS))
    finally:
        for watch in watches:
            await watch.stop()
        await catalog.stop()
        await outbox.stop()
        await db.close()


service = Service("grants", open_grants, schema=SCHEMA)
