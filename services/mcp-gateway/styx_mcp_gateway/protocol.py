"""MCP over Streamable HTTP: the only file that knows the SDK.

Both eras of the protocol on one path, without sessions, so that any replica answers any call and
a restart loses nobody. What may wait for a person is streamed, everything else is answered as
JSON. Each request is checked before the SDK sees it: method, host and origin, size, whose it is.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import urlsplit

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send
from styx_core.contract.broker import TaskIdentity
from styx_core.contract.grants import ListTargets
from styx_core.errors import StyxError, Unauthenticated
from styx_core.oauth_places import challenge

from styx_mcp_gateway.calling import Answer, answer
from styx_mcp_gateway.codes import refusal
from styx_mcp_gateway.deps import Deps
from styx_mcp_gateway.identity import bearer, identify
from styx_mcp_gateway.registry import BY_NAME, TOOLS
from styx_mcp_gateway.tool import Call, Tool
from styx_mcp_gateway.words import filled, instructions, named

MOST_BYTES: Final = 512 * 1024
"""Longest request body; the bus carries 1 MiB."""
LONGEST_UPLOAD_S: Final = 10
TOOLS_FRESH_MS: Final = 60_000
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
TASK: Final = "styx.task"
HELD: Final = tuple(f'"{tool.name}"'.encode() for tool in TOOLS if tool.holds)
"""A body with none of these is answered as JSON. One that has them for another reason is streamed
instead, and one that spells them in escapes is answered as JSON: both are still right."""


class Endpoint:
    """The ASGI application of `/mcp`."""

    held = HELD

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._server = self.offered()
        self._server.middleware = []  # spans and metrics are ours, in `calling`
        self._streamed = StreamableHTTPSessionManager(self._server, stateless=True)
        self._plain = StreamableHTTPSessionManager(self._server, stateless=True, json_response=True)
        self._security = TransportSecurityMiddleware(allowed(deps.public_url))
        self._stop = asyncio.Event()
        self._life: asyncio.Task[None] | None = None

    def offered(self) -> Server[Any]:
        """What the SDK serves: our tools, and nothing else of the protocol."""
        return Server(
            "styx",
            version="0.1.0",
            title="Styx",
            cache_hints={"tools/list": CacheHint(TOOLS_FRESH_MS, "private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def start(self) -> None:
        """Ready the SDK, in a task of its own: its groups want to be left where they began."""
        ready = asyncio.Event()
        self._life = asyncio.create_task(self._live(ready), name="mcp")
        await ready.wait()

    async def stop(self) -> None:
        """End what is still under way."""
        self._stop.set()
        if self._life is not None:
            await self._life

    async def _live(self, ready: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            for manager in (self._streamed, self._plain):
                await stack.enter_async_context(manager.run())
            ready.set()
            await self._stop.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One HTTP request."""
        refused, body = await self._admit(scope, receive)
        if refused is not None:
            await refused(scope, receive, send)
            return
        self._server.instructions = instructions(self._deps.catalog.providers)
        manager = self._streamed if any(name in body for name in self.held) else self._plain
        await manager.handle_request(scope, _replayed(body, receive), send)

    async def _admit(self, scope: Scope, receive: Receive) -> tuple[Response | None, bytes]:
        """The body of a request that may go on, or the answer of one that may not."""
        request = Request(scope, receive)
        if request.method != "POST":
            return Response(status_code=405, headers={"Allow": "POST"}), b""
        refused = await self._security.validate_request(request, is_post=True)
        if refused is not None:
            return refused, b""
        try:
            token = bearer(request.headers.get("authorization"))
            scope[TASK] = await identify(token, self._deps.bus)
        except StyxError as error:
            shown = "authorization" in request.headers
            return _unadmitted(error, challenge(self._deps.public_url, shown=shown)), b""
        try:
            async with asyncio.timeout(LONGEST_UPLOAD_S):
                body = await _read(request)
        except (TimeoutError, ClientDisconnect):
            return _problem(408, f"the request did not end within {LONGEST_UPLOAD_S} s"), b""
        if len(body) > MOST_BYTES:
            return _problem(413, f"the request is over {MOST_BYTES} bytes"), b""
        if body.lstrip()[:1] == b"[":
            return _problem(400, "one request at a time: this is a list"), b""
        return None, body

    async def _list_tools(
        self, context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        providers, targets = self._deps.catalog.providers, await self._targets(context)
        said = ((tool, filled(tool.description, providers, targets)) for tool in TOOLS)
        return types.ListToolsResult(tools=[_declared(tool, text) for tool, text in said])

    async def _targets(self, context: ServerRequestContext[Any]) -> str:
        """What the caller's project has, in words; a list of tools fails over nothing less."""
        assert isinstance(context.request, Request)
        task: TaskIdentity = context.request.scope[TASK]
        try:
            found = await self._deps.bus.request(ListTargets(task_id=task.task_id))
        except StyxError:
            return "list_targets tells them"
        return named(found.targets)

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name[:64]!a}")
        request = context.request
        assert isinstance(request, Request)  # the transport puts it there for each message

        async def progress(done: float, text: str) -> None:
            await context.session.report_progress(done, None, text)

        task: TaskIdentity = request.scope[TASK]
        trace = request.headers.get("traceparent", "")
        token = bearer(request.headers.get("authorization"))
        call = Call(task, self._deps, progress, token)
        return _result(await answer(tool, params.arguments or {}, call, trace))


def allowed(public_url: str) -> TransportSecuritySettings:
    """Which `Host` and `Origin` a request may name: the public URL's, and this machine's own.

    A page of a stranger can't name this machine as its origin where the public URL is another.
    """
    where = urlsplit(public_url)
    local = not where.hostname or where.hostname in ("127.0.0.1", "localhost", "::1")
    hosts = [form for host in LOOPBACK for form in (host, f"{host}:*")]
    origins = [f"http://{host}" for host in hosts] if local else []
    if where.netloc:
        hosts += [where.netloc, f"{where.hostname}:{443 if where.scheme == 'https' else 80}"]
        origins.append(f"{where.scheme}://{where.netloc}")
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


async def _read(request: Request) -> bytes:
    """The body, or the beginning of one that is too long."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            break
    return bytes(body)


def _unadmitted(error: StyxError, way_in: str) -> Response:
    if isinstance(error, Unauthenticated):
        return _problem(401, refusal(error), {"WWW-Authenticate": way_in})
    again = {"Retry-After": "1"} if error.retryable else {}
    return _problem(error.status, refusal(error), again)


def _problem(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    """An HTTP answer that a JSON-RPC client can read as well."""
    fault = {"code": types.INVALID_REQUEST, "message": text}
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": fault}, status, headers)


def _replayed(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body again, then whatever else the client says (that it left)."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return first.pop() if first else await receive()

    return replay


def _declared(tool: Tool[Any], description: str) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads,
            destructive_hint=False,
            idempotent_hint=tool.repeatable,
            open_world_hint=not tool.reads,
        ),
    )


def _result(made: Answer) -> types.CallToolResult:
    text = made.refused if made.fields is None else json.dumps(made.fields, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=made.fields,
        is_error=made.fields is None,
    )
