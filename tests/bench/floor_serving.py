"""One ASGI application on a free loopback port, until stdin closes. Prints its address."""

import asyncio
import socket
import sys
from typing import Any

import uvicorn
import uvloop


async def _serve(app: Any) -> None:
    config = uvicorn.Config(app, log_config=None, http="h11", access_log=False, backlog=8192)
    http = uvicorn.Server(config)
    bound = socket.create_server(("127.0.0.1", 0), backlog=8192)
    serving = asyncio.create_task(http.serve(sockets=[bound]))
    while not http.started:
        await asyncio.sleep(0.01)
    print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    http.should_exit = http.force_exit = True
    await serving


def serve(app: Any) -> None:
    """Serve it, on uvloop as Styx does."""
    uvloop.run(_serve(app))
