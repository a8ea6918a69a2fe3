"""Every tool's arguments over HTTP, made from its own schema: each wrong one is named, nothing is
coerced or repeated, and nothing wrong reaches another service (there is none here)."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from endpoint_fixture import serving
from schema_values import right, wrong
from styx_mcp_gateway.protocol import Endpoint
from styx_mcp_gateway.registry import TOOLS
from styx_mcp_gateway.tool import Tool

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

EACH = [
    pytest.param(tool, key, schema, id=f"{tool.name}-{key}")
    for tool in TOOLS
    for key, schema in tool.input_schema()["properties"].items()
]
NEEDED = [
    pytest.param(tool, key, id=f"{tool.name}-{key}")
    for tool in TOOLS
    for key in tool.input_schema().get("required", ())
]
ALL = [pytest.param(tool, id=tool.name) for tool in TOOLS]
INVALID = "(code -32001)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def http() -> AsyncIterator[httpx.AsyncClient]:
    headers = {
        "Authorization": "Bearer FIXTURE-token",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
    }
    async with (
        serving(Endpoint) as url,
        httpx.AsyncClient(base_url=url, headers=headers, timeout=30) as client,
    ):
        yield client


async def answer(http: httpx.AsyncClient, tool: Tool[Any], arguments: Any) -> dict[str, Any]:
    """The JSON-RPC answer, whether it came as JSON or in a stream."""
    params = {"name": tool.name, "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await http.post("/mcp", content=json.dumps(request))
    assert reply.status_code < 500
    lines = [line for line in reply.text.splitlines() if line.startswith(("{", "data: {"))]
    told: dict[str, Any] = json.loads(lines[-1].removeprefix("data: "))
    return told


async def refused(http: httpx.AsyncClient, tool: Tool[Any], arguments: Any) -> str:
    """The text of an argument's refusal."""
    result = (await answer(http, tool, arguments))["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    text: str = result["content"][0]["text"]
    assert text.endswith(INVALID), text
    assert len(text.encode()) < 1000
    assert "FIXTURE" not in text
    return text


@pytest.mark.parametrize(("tool", "key", "schema"), EACH)
async def test_a_wrong_value_is_named(
    http: httpx.AsyncClient, tool: Tool[Any], key: str, schema: dict[str, Any]
) -> None:
    arguments = right(tool.input_schema())
    for what, value in wrong(schema):
        said = await refused(http, tool, {**arguments, key: value})
        assert said.startswith((f"{key}:", f"{key}.")), what


@pytest.mark.parametrize(("tool", "key"), NEEDED)
async def test_a_missing_argument_is_named(
    http: httpx.AsyncClient, tool: Tool[Any], key: str
) -> None:
    arguments = right(tool.input_schema())
    del arguments[key]
    assert (await refused(http, tool, arguments)).startswith(f"{key}: is missing")


@pytest.mark.parametrize("tool", ALL)
async def test_an_unknown_argument_is_named_with_those_there_are(
    http: httpx.AsyncClient, tool: Tool[Any]
) -> None:
    arguments = {**right(tool.input_schema()), "colour": "FIXTURE-red"}
    said = await refused(http, tool, arguments)
    assert said.startswith(f"colour: {tool.name} has no such argument; it takes ")
    assert all(key in said for key in tool.input_schema()["properties"])


@pytest.mark.parametrize("tool", ALL)
async def test_right_ones_go_on_to_the_service_that_is_away(
    http: httpx.AsyncClient, tool: Tool[Any]
) -> None:
    result = (await answer(http, tool, right(tool.input_schema())))["result"]
    assert INVALID not in result["content"][0]["text"]


@pytest.mark.parametrize("tool", ALL)
@pytest.mark.parametrize("arguments", [[], "x", 7, True], ids=repr)
async def test_arguments_that_are_no_object_are_the_protocols_error(
    http: httpx.AsyncClient, tool: Tool[Any], arguments: Any
) -> None:
    assert (await answer(http, tool, arguments))["error"]["code"] == -32602


@pytest.mark.parametrize("tool", ALL)
async def test_half_a_character_is_no_json(http: httpx.AsyncClient, tool: Tool[Any]) -> None:
    assert (await answer(http, tool, {"a": "\ud800"}))["error"]["code"] == -32700
