"""What is no honest request at a real stack's `/mcp`: each gets its documented answer, and the
server goes on serving."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from stack_fixture import PATIENCE, an_agent, living

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS, MISMATCH = -32700, -32600, -32602, -32020
CLOSED = 0
"""For a status: the connection ended without one."""
FIVE_MB = 5 * 1024 * 1024


@dataclass
class Wire:
    """A connection of one request each, which says exactly the bytes that it is given."""

    port: int
    token: str

    async def say(
        self,
        body: bytes = PING,
        method: str = "POST",
        host: str = "",
        length: bool = True,
        **headers: str,
    ) -> tuple[int, dict[str, Any]]:
        """The status, and the JSON of the answer if it is that."""
        sent = {
            "Host": host or f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "Connection": "close",
            **({"Content-Length": str(len(body))} if length else {}),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return await self.raw(f"{method} /mcp HTTP/1.1\r\n{head}\r\n".encode() + body)

    async def raw(self, request: bytes) -> tuple[int, dict[str, Any]]:
        """The same of bytes that are all of the request."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE):
                while part := await reader.read(64 * 1024):
                    answer += part
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        told = json.loads(body) if body.startswith(b"{") else {}
        return int(head.split()[1]) if head else CLOSED, told


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def living_wire(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Wire]:
    data = tmp_path_factory.mktemp("stack") / "data"
    async with living(data) as here, an_agent(data) as agent:
        yield Wire(int(here.stack.url.rpartition(":")[2]), agent.token)


@pytest_asyncio.fixture(loop_scope="module")
async def wire(living_wire: Wire) -> AsyncIterator[Wire]:
    """It serves before a test, and after it."""
    assert await living_wire.say() == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    yield living_wire
    assert await living_wire.say() == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})


def call(**params: Any) -> bytes:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(request).encode()


BODIES = {
    "lists in lists": (b"[" * 250_000 + b"]" * 250_000, 400, INVALID_REQUEST),
    "objects in objects": (b'{"a":' * 80_000 + b"1" + b"}" * 80_000, 400, PARSE_ERROR),
    "a number of 400,000 digits": (
        b'{"jsonrpc":"2.0","id":' + b"9" * 400_000 + b',"method":"ping"}',
        400,
        PARSE_ERROR,
    ),
    "a batch": (b"[" + PING + b"," + PING + b"]", 400, INVALID_REQUEST),
    "a batch of nothing": (b"[]", 400, INVALID_REQUEST),
    "no JSON": (b"\x00\xff", 400, PARSE_ERROR),
    "nothing": (b"", 400, PARSE_ERROR),
    "another protocol": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, INVALID_PARAMS),
    "arguments that are a list": (call(name="list_targets", arguments=[]), 200, INVALID_PARAMS),
    "a tool's name that is none": (call(name=7), 200, INVALID_PARAMS),
    "a long unknown tool": (call(name="x" * 100_000), 200, INVALID_PARAMS),
    "five megabytes": (
        call(name="list_targets", arguments={"a": "x" * FIVE_MB}),
        413,
        INVALID_REQUEST,
    ),
}


@pytest.mark.parametrize("what", BODIES)
async def test_a_body_that_is_no_request_is_answered(wire: Wire, what: str) -> None:
    body, status, code = BODIES[what]
    found, told = await wire.say(body)
    assert (found, told["error"]["code"]) == (status, code)


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS", "PATCH"])
async def test_only_post_is_served(wire: Wire, method: str) -> None:
    assert (await wire.say(b"", method))[0] == 405


MANY = {f"X_{number}": "nonsense" for number in range(10_000)}
HEADERS: dict[str, tuple[dict[str, str], int]] = {
    "ten thousand": (MANY, 400),
    "one of a megabyte": ({"X": "x" * 1_000_000}, 400),
    "another's host": ({"host": "evil.example"}, 421),
    "another's page": ({"Origin": "http://evil.example"}, 403),
    "a page of nowhere": ({"Origin": "null"}, 403),
    "no JSON": ({"Content_Type": "text/plain"}, 400),
    "wanting a page": ({"Accept": "text/html"}, 406),
    "nobody's token": ({"Authorization": "Bearer FIXTURE-of-nobody"}, 401),
    "no token": ({"Authorization": "Bearer " + "x" * 10_000}, 401),
    "a session of another server": ({"Mcp_Session_Id": "another"}, 200),
    "a length that is no number": ({"Content_Length": "many"}, 400),
    "a length below nothing": ({"Content_Length": "-1"}, 400),
}


@pytest.mark.parametrize("what", HEADERS)
async def test_headers_that_are_wrong_are_answered(wire: Wire, what: str) -> None:
    headers, status = HEADERS[what]
    # Who is refused while still sending may see the connection's end before the answer.
    allowed = (CLOSED, status) if what in ("ten thousand", "one of a megabyte") else (status,)
    assert (await wire.say(**headers))[0] in allowed


async def test_a_client_that_sends_too_much_hears_so_and_sees_no_reset(wire: Wire) -> None:
    headers = {
        "Authorization": f"Bearer {wire.token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with httpx.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        for _ in range(5):
            reply = await http.post(
                f"http://127.0.0.1:{wire.port}/mcp", content=BODIES["five megabytes"][0]
            )
            assert reply.status_code == 413


async def test_a_long_body_in_pieces_is_refused_too(wire: Wire) -> None:
    pieces = b"%x\r\n%b\r\n" % (FIVE_MB // 50, b"x" * (FIVE_MB // 50)) * 50 + b"0\r\n\r\n"
    status, told = await wire.say(pieces, length=False, Transfer_Encoding="chunked")
    assert (status, told["error"]["code"]) == (413, INVALID_REQUEST)


@pytest.mark.parametrize(
    ("header", "value"),
    [("Mcp_Method", "tools/list"), ("Mcp_Name", "request_access"), ("Mcp_Name", "")],
)
async def test_a_modern_request_whose_headers_say_something_else_is_refused(
    wire: Wire, header: str, value: str
) -> None:
    right = {
        "MCP_Protocol_Version": "2026-07-28",
        "Mcp_Method": "tools/call",
        "Mcp_Name": "list_targets",
    }
    body = call(name="list_targets", arguments={}, _meta=MODERN)
    fine, told = await wire.say(body, **right)
    assert (fine, "result" in told) == (200, True)
    status, told = await wire.say(body, **{**right, header: value})
    assert (status, told["error"]["code"]) == (400, MISMATCH)
