"""What a service is to its host: a name, and a way to open it with what it needs.

The same service runs alone (`python -m styx_grants`, team) or beside the others in one process
(embedded). Its host connects its bus as its own NATS user, opens it, serves its commands, and gives
it `/healthz`, `/readyz` and `/metrics`.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import uvicorn
import uvloop
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from styx_core import garbage, telemetry
from styx_core.bus import Bus, NatsBus
from styx_core.contract.base import Command
from styx_core.dispatch import Handler
from styx_core.redact import redactor
from styx_core.schema import Schema, WrongSchema, found, settled, usable
from styx_core.settings import Settings

if TYPE_CHECKING:
    from styx_core.vault import Vault


def utc_now() -> datetime:
    """The wall clock, aware."""
    return datetime.now(UTC)


@dataclass(frozen=True)
class Context:
    """What a host hands to a service."""

    settings: Settings
    bus: Bus
    vault: "Vault | None" = None
    now: Callable[[], datetime] = utc_now


@dataclass
class Running:
    """An open service."""

    handlers: Mapping[type[Command[Any]], Handler] = field(default_factory=dict)
    app: ASGIApp | None = None
    checks: Mapping[str, Callable[[], bool]] = field(default_factory=dict)
    """What must hold for the service to be ready, by name."""
    drain: Callable[[], None] = lambda: None
    """Let go of held callers; called before the end."""
    first_start: Callable[[], Awaitable[str | None]] | None = None
    """A one-time admin code while nobody owns this Styx; only `broker` has it."""


@dataclass(frozen=True)
class Service:
    """A service as its package declares it (entry point `styx.services`)."""

    name: str
    open: Callable[[Context], AbstractAsyncContextManager[Running]]
    vault: bool = False
    schema: Schema | None = None
    """Its tables, if it keeps a database: they are there before it is opened."""


@asynccontextmanager
async def opened(service: Service, context: Context) -> AsyncIterator[Running]:
    """Open a service and answer its commands."""
    async with service.open(context) as running:
        if running.handlers:
            await context.bus.serve(service.name, running.handlers)
        yield running


def health_app(name: str, bus: Bus, running: Running) -> ASGIApp:
    """`/healthz` (alive), `/readyz` (can serve, or which part can't), `/metrics`; then the app."""

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"service": name, "ok": True})

    async def readyz(_request: Request) -> Response:
        parts = {"bus": bus.connected(), **{n: check() for n, check in running.checks.items()}}
        ready = all(parts.values())
        return JSONResponse(
            {"service": name, "ok": ready, "parts": parts}, status_code=200 if ready else 503
        )

    async def metrics(_request: Request) -> Response:
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    routes: list[Any] = [
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]
    if running.app is not None:
        routes.append(Mount("/", app=running.app))
    return Starlette(routes=routes)


def run(service: Service, settings: Settings) -> None:
    """Run one service alone until SIGTERM or SIGINT: the team deployment."""
    telemetry.log_as_json(redactor(), settings.log_level)
    telemetry.trace_to(None, settings.otlp_endpoint, settings.trace_sample)
    garbage.calm()
    try:
        uvloop.run(_run(service, settings))
    except WrongSchema as error:
        raise SystemExit(f"styx: {error}") from error


async def _run(service: Service, settings: Settings) -> None:
    async with AsyncExitStack() as stack:
        bus = await NatsBus.connect(
            settings.nats_url, service.name, settings.nats_seed.get_secret_value()
        )
        stack.push_async_callback(bus.close)
        if service.schema is not None:
            await _schema(service.schema, settings, bus)
        vault = open_vault(settings) if service.vault else None
        if vault is not None:
            stack.push_async_callback(vault.close)
        running = await stack.enter_async_context(opened(service, Context(settings, bus, vault)))
        app = health_app(service.name, bus, running)
        server = Server(_config(app, settings))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, server.end, running.drain)
        await server.serve()


async def _schema(schema: Schema, settings: Settings, bus: Bus) -> None:
    """Wait for `migrate` if it is yet to run, alive and not ready. Raises `WrongSchema`."""
    url = settings.database_url
    if usable(schema, await asyncio.to_thread(found, url)):
        return
    app = health_app(schema.service, bus, Running(checks={"schema": lambda: False}))
    server = Server(_config(app, settings))
    serving = asyncio.create_task(server.serve())
    try:
        await settled(schema, url, settings.schema_seconds)
    finally:
        server.should_exit = True
        await serving


def _config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        settings.http_host,
        settings.http_port,
        log_config=None,
        http="h11",
        timeout_graceful_shutdown=10,  # or who sent half a request keeps the process alive
    )


class Server(uvicorn.Server):
    """uvicorn, told to stop by its host instead of by signals of its own."""

    def end(self, drain: Callable[[], None]) -> None:
        """Let held callers go, then stop taking calls."""
        drain()
        self.should_exit = True

    def install_signal_handlers(self) -> None:
        """The host has its own."""


def open_vault(settings: Settings) -> "Vault":
    """A service's way into Vault, by its own AppRole."""
    from styx_core.vault import Vault

    return Vault(
        settings.vault_url, settings.vault_role_id, settings.vault_secret_id.get_secret_value()
    )
