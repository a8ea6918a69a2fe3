"""The `mcp-gateway` service, wired: the route `/mcp`, and nothing kept between two calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.routing import Route, Router
from styx_core.catalog import Catalog
from styx_core.ratelimit import RateLimit
from styx_core.service import Context, Running, Service
from styx_core.waiting import Waiting

from styx_mcp_gateway.calling import SERVICE
from styx_mcp_gateway.deps import LONGEST_HOLD, Deps
from styx_mcp_gateway.protocol import Endpoint
from styx_mcp_gateway.registry import TOOLS


@asynccontextmanager
async def open_gateway(context: Context) -> AsyncIterator[Running]:
    """Open the service on its context."""
    settings = context.settings
    deps = Deps(
        context.bus,
        Catalog(context.bus),
        Waiting(SERVICE),
        RateLimit({tool.name: tool.per_minute for tool in TOOLS}),
        settings.public_url,
        min(LONGEST_HOLD, settings.wait_seconds),
    )
    endpoint = Endpoint(deps)
    await deps.catalog.start()
    await deps.waiting.start(context.bus)
    await endpoint.start()
    app = Router([Route("/mcp", endpoint)], redirect_slashes=False)
    try:
        yield Running(
            app=app,
            checks={"catalog": lambda: bool(deps.catalog.providers)},
            drain=deps.waiting.drain,
        )
    finally:
        deps.waiting.drain()
        await endpoint.stop()
        await deps.catalog.stop()


service = Service(SERVICE, open_gateway)
