"""Requests that the gateway turns away before any tool sees them, and that it outlives them."""

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

import pytest
from styx_mcp_gateway import protocol
from styx_mcp_gateway.protocol import MOST_BYTES, allowed

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def call(tool: str, arguments: Any = None, number: int = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments if arguments is not None else {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
async def test_only_post_is_served(gateway: Any, method: str) -> None:
    async with gateway.http() as http:
        reply = await http.request(method, gateway.url)
    assert (reply.status_code, reply.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize(
    "authorization", [None, "Bearer", "Basic FIXTURE", "Bearer FIXTURE-of-nobody"]
)
async def test_without_a_living_tasks_token_nothing_is_served(
    gateway: Any, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    async with gateway.http(token=None) as http:
        reply = await http.post(gateway.url, json=call("list_targets"), headers=headers)
    assert reply.status_code == 401
    assert reply.headers["www-authenticate"].startswith("Bearer ")
    assert "(code -32002)" in reply.json()["error"]["message"]
    assert "FIXTURE" not in reply.text
    assert gateway.grants.asked == []


async def test_a_token_is_dead_from_the_call_after_its_task_ended(gateway: Any) -> None:
    async with gateway.http() as http:
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 200
        gateway.tokens.clear()
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 401


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("Host", "evil.example", 421),
        ("Origin", "http://evil.example", 403),
        ("Content-Type", "text/plain", 400),
    ],
)
async def test_a_request_from_elsewhere_is_refused(
    gateway: Any, header: str, value: str, status: int
) -> None:
    async with gateway.http() as http:
        content = json.dumps(call("list_targets"))
        headers = {"Content-Type": "application/json", header: value}
        reply = await http.post(gateway.url, content=content, headers=headers)
    assert reply.status_code == status
    assert gateway.grants.asked == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"request_access"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xff\xfe",
        b"[" + json.dumps(call("list_targets")).encode() + b"]",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1e999}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_targets",'
        b'"arguments":[]}}',
        b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}',
    ],
)
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
async def test_what_is_no_request_gets_an_answer_and_the_server_goes_on(
    gateway: Any, body: bytes, era: str
) -> None:
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": era}
    async with gateway.http() as http:
        reply = await http.post(gateway.url, content=body, headers=headers)
        assert reply.status_code < 500
        assert "error" in reply.json()
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 200


async def test_a_body_that_is_too_long_is_refused(gateway: Any) -> None:
    async with gateway.http() as http:
        long = call("request_access", {"reason": "x" * MOST_BYTES})
        reply = await http.post(gateway.url, json=long)
        assert reply.status_code == 413
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 200


async def half_a_request(gateway: Any) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection that sent one byte of a hundred."""
    where = urlsplit(gateway.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    headers = {
        "Host": where.netloc,
        "Authorization": "Bearer FIXTURE-task-token",
        "Content-Type": "application/json",
        "Content-Length": "100",
        "Connection": "close",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"POST /mcp HTTP/1.1\r\n{head}\r\n{{".encode())
    return reader, writer


async def test_a_body_that_does_not_end_is_not_waited_for(
    gateway: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LONGEST_UPLOAD_S", 0.05)
    reader, writer = await half_a_request(gateway)
    assert b" 408 " in await reader.readline()
    writer.close()
    async with gateway.http() as http:
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 200


async def test_who_leaves_in_the_middle_of_a_request_is_no_fault_of_ours(
    gateway: Any, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await half_a_request(gateway)
    under_way = gateway.server.server_state.tasks
    async with asyncio.timeout(10):
        while not under_way:
            await asyncio.sleep(0.005)
        writer.close()
        while under_way:
            await asyncio.sleep(0.005)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def test_a_modern_request_with_mismatched_headers_is_refused(gateway: Any) -> None:
    body = call("list_targets")
    body["params"]["_meta"] = MODERN
    right = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "list_targets",
    }
    async with gateway.http() as http:
        fine = await http.post(gateway.url, json=body, headers=right)
        wrong = await http.post(gateway.url, json=body, headers={**right, "Mcp-Name": "ping"})
    assert fine.json()["result"]["structuredContent"]["targets"]
    assert wrong.status_code == 400
    assert wrong.json()["error"]["code"] == -32020


@pytest.mark.parametrize(
    ("public_url", "host", "origin"),
    [
        ("https://styx.example", "styx.example", "https://styx.example"),
        ("https://styx.example:8443", "styx.example:8443", "https://styx.example:8443"),
        ("", "127.0.0.1:*", "http://localhost:*"),
    ],
)
def test_the_public_url_says_who_may_call(public_url: str, host: str, origin: str) -> None:
    settings = allowed(public_url)
    assert host in settings.allowed_hosts
    assert origin in settings.allowed_origins
    assert ("http://localhost:*" in settings.allowed_origins) == (not public_url)
