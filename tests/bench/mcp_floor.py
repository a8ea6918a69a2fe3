"""The least that an MCP server can be: the SDK's low-level one with two empty tools at `/mcp`.

`list_targets` answers at once, as JSON; `request_access` is streamed and held until `POST /decide`,
with the progress every 15 seconds that clients need to stay.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from floor_serving import serve
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

BEAT = 15.0
EMPTY = {"type": "object", "properties": {}}
NAMES = ("list_targets", "request_access")
decided = asyncio.Event()


async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
    """Both."""
    return types.ListToolsResult(tools=[types.Tool(name=n, input_schema=EMPTY) for n in NAMES])


async def call_tool(context: Any, params: Any) -> types.CallToolResult:
    """Answer, at once or once decided."""
    if params.name == "request_access":
        await held(context)
    text = types.TextContent(type="text", text='{"targets": []}')
    return types.CallToolResult(content=[text], structured_content={"targets": []})


async def held(context: Any) -> None:
    """Wait."""
    done = 0.0
    while not decided.is_set():
        done += 1
        await context.session.report_progress(done, None, "waits for a person")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(BEAT):
                await decided.wait()


server: Server[Any] = Server("floor", on_list_tools=list_tools, on_call_tool=call_tool)
server.middleware = []
streamed = StreamableHTTPSessionManager(server, stateless=True)
plain = StreamableHTTPSessionManager(server, stateless=True, json_response=True)


class Endpoint:
    """`/mcp`."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Choose by the body how it is answered."""
        body, more = bytearray(), True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        first = [{"type": "http.request", "body": bytes(body), "more_body": False}]

        async def replay() -> Any:
            return first.pop() if first else await receive()

        manager = streamed if b"request_access" in body else plain
        await manager.handle_request(scope, replay, send)


async def decide(_request: Request) -> Response:
    """Every held call is answered."""
    decided.set()
    return Response()


@contextlib.asynccontextmanager
async def life(_app: Any) -> AsyncIterator[None]:
    """Of the two managers."""
    async with streamed.run(), plain.run():
        yield


routes = [Route("/mcp", Endpoint()), Route("/decide", decide, methods=["POST"])]
serve(Starlette(routes=routes, lifespan=life))
