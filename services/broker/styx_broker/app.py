"""The `broker` service, wired."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from styx_core.catalog import Catalog
from styx_core.db import Database
from styx_core.dispatch import handlers_of
from styx_core.outbox import Outbox
from styx_core.ratelimit import RateLimit
from styx_core.service import Context, Running, Service
from styx_core.telemetry import OUTBOX as OUTBOX_ROWS
from styx_core.waiting import Waiting

from styx_broker import (
    handlers,
    handlers_board,
    problems,
    routes_api_keys,
    routes_audit_page,
    routes_board,
    routes_channels,
    routes_connect_page,
    routes_connected,
    routes_consent,
    routes_exec,
    routes_identity,
    routes_live,
    routes_members,
    routes_notices,
    routes_oauth,
    routes_oidc,
    routes_pages,
    routes_people,
    routes_policies,
    routes_policies_page,
    routes_questions,
    routes_settings,
    routes_signin,
    routes_signing,
    routes_targets_page,
    routes_tasks,
)
from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.exec_wire import MOST_BYTES
from styx_broker.janitor import Janitor
from styx_broker.live import Live
from styx_broker.models import OUTBOX, SCHEMA
from styx_broker.notifier import Notifier
from styx_broker.posting import Poster
from styx_broker.secure_transport import SecureTransport
from styx_broker.task_mail import Nudger
from styx_broker.tokens import fingerprint, new_token

API = (
    *(routes_exec, routes_signing, routes_notices, routes_tasks, routes_people, routes_policies),
    *(routes_members, routes_signin, routes_identity, routes_api_keys),
    *(routes_channels, routes_questions, routes_connected, routes_oauth),
)
PAGES = (
    *(routes_pages, routes_live, routes_board, routes_targets_page, routes_policies_page),
    *(routes_audit_page, routes_settings, routes_connect_page, routes_oidc, routes_consent),
)
PER_MINUTE = {"claim": 10, "signin": 60, "public": 600, "register": 30, "oauth": 600}


def build(deps: Deps) -> FastAPI:
    """The HTTP face."""
    app = FastAPI(
        title="Styx broker",
        version="0.1.0",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        max_body_size=2 * MOST_BYTES,  # a call that is too long is told so; more is not read
    )
    app.state.deps = deps
    for module in (*API, *PAGES):
        app.include_router(module.router)
    problems.install(app)
    app.add_middleware(SecureTransport, deps)
    return app


@asynccontextmanager
async def open_broker(context: Context) -> AsyncIterator[Running]:
    """Open the service on its context."""
    outbox = Outbox(OUTBOX)
    outbox.lag = OUTBOX_ROWS.labels("broker").set
    db = Database(context.settings.database_url, outbox.wake)
    catalog, waiting, live = Catalog(context.bus), Waiting("broker"), Live()
    limits = RateLimit({**PER_MINUTE, "exec": context.settings.calls_per_minute})
    await catalog.start()
    await waiting.start(context.bus)
    await live.start(context.bus)
    edges = (context.bus, db, outbox, catalog, waiting, live, limits)
    deps = Deps(*edges, context.settings, context.now)
    outbox.start(db, context.bus)
    janitor = Janitor(deps)
    await janitor.listen(context.bus)
    watches = (janitor, Notifier(deps), Poster(deps), Nudger(deps))
    for watch in watches:
        watch.start()

    def drain() -> None:
        waiting.drain()
        live.drain()

    try:
        yield Running(
            handlers=handlers_of("broker", deps, handlers, handlers_board),
            app=build(deps),
            checks={"catalog": lambda: bool(catalog.providers)},
            drain=drain,
            first_start=lambda: admin_code(deps),
        )
    finally:
        drain()
        await catalog.stop()
        for watch in watches:
            await watch.stop()
        await outbox.stop()
        await db.close()


async def admin_code(deps: Deps) -> str | None:
    """A fresh one-time code for the admin link, until somebody has claimed one; then None."""
    if await deps.db.read(repo.claimed):
        return None
    code = new_token("adm")
    await deps.db.write(
        lambda c: repo.add(c, repo.CLAIM, code_sha256=fingerprint(code), used=False)
    )
    return code


service = Service("broker", open_broker, schema=SCHEMA)
