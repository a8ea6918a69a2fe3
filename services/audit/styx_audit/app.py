"""The `audit` service, wired."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from styx_core.db import Database
from styx_core.service import Context, Running, Service

from styx_audit.models import SCHEMA
from styx_audit.recorder import Recorder
from styx_audit.routes import Deps, build
from styx_audit.signer import Signer


@asynccontextmanager
async def open_audit(context: Context) -> AsyncIterator[Running]:
    """Open the service on its context."""
    if context.vault is None:
        raise ValueError("audit needs Vault")
    db = Database(context.settings.database_url, lambda: None)
    recorder = Recorder(context.bus, db)
    recorder.start()
    deps = Deps(context.bus, db, Signer(context.vault, db))
    try:
        yield Running(app=build(deps), checks={"recording": lambda: recorder.recording})
    finally:
        await recorder.stop()
        await db.close()


service = Service("audit", open_audit, vault=True, schema=SCHEMA)
