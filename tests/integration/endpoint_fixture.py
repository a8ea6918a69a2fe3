"""The gateway's endpoint alone, over real HTTP, without limits: any token is a task's."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from stack_fixture import until
from styx_core.catalog import Catalog
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.ids import new_id
from styx_core.ratelimit import RateLimit
from styx_core.testing import MemoryBus
from styx_core.waiting import Waiting
from styx_mcp_gateway.deps import Deps
from styx_mcp_gateway.protocol import Endpoint

TASK = TaskIdentity(task_id=new_id("tsk"), project_id=new_id("prj"), agent="any", person="ada")


async def identify(_command: IdentifyTask) -> TaskIdentity:
    return TASK


@asynccontextmanager
async def serving(endpoint: type[Endpoint]) -> AsyncIterator[str]:
    """Its address. `broker` is played; no other service is there."""
    bus = MemoryBus()
    await bus.as_service("broker").serve("broker", {IdentifyTask: identify})
    own = bus.as_service("mcp-gateway")
    made = endpoint(Deps(own, Catalog(own), Waiting("mcp-gateway"), RateLimit({})))
    await made.start()
    config = uvicorn.Config(made, port=0, log_config=None, lifespan="off", http="h11")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running
    await made.stop()
