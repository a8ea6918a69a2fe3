"""The gateway before the SDK's own client, in both eras, and before requests that are no MCP."""

import asyncio
import json
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from styx_core.errors import Internal, Unavailable
from styx_core.ids import new_id

WANTED = {"target": "shop", "scopes": ["read"], "reason": "look"}
ERAS = ("2026-07-28", "legacy")


def call(tool: str, arguments: Any = None, number: int = 1) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments if arguments is not None else {}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


async def held_call(client: Client) -> tuple[asyncio.Task[Any], list[str]]:
    """A request that waits, and what its client hears meanwhile."""
    said: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    await client.list_tools()  # or the SDK asks for them when the result comes
    calling = client.call_tool("request_access", WANTED, progress_callback=hear)
    held = asyncio.create_task(calling)
    await until(lambda: said)
    return held, said


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("era", ERAS)
async def test_a_client_finds_the_tools(gateway: Any, era: str) -> None:
    async with gateway.client(era) as client:
        tools = (await client.list_tools()).tools
    names = ["list_targets", "request_access", "check_grant", "get_credential"]
    names += ["report_status", "ask_user", "list_sessions", "send_message", "inbox"]
    assert [tool.name for tool in tools] == names
    for tool in tools:
        assert tool.description
        assert len(tool.description.encode()) < 2000
        assert tool.input_schema["additionalProperties"] is False
        assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(tool.input_schema)
        assert '"null"' not in json.dumps(tool.input_schema)
        assert "$ref" not in json.dumps(tool.input_schema)
    assert "(acme)" in tools[1].description


@pytest.mark.parametrize("era", ERAS)
async def test_the_project_s_targets_stand_where_they_are_asked_for(gateway: Any, era: str) -> None:
    async def told() -> str:
        async with gateway.client(era) as client:
            return str((await client.list_tools()).tools[1].description)

    assert "(now: shop (acme, staging))" in await told()
    gateway.grants.targets = [gateway.grants.targets[0]] * 300
    many = await told()
    assert "and 292 more" in many
    assert len(many.encode()) < 2000
    gateway.grants.targets = []
    assert "(now: none yet)" in await told()
    gateway.grants.fails = Unavailable("grants is away")
    assert "(now: list_targets tells them)" in await told()


async def test_the_clis_that_are_wrapped_stand_in_the_instructions(gateway: Any) -> None:
    async with gateway.client("legacy") as client:
        assert "(acme)" in client.instructions
        assert len(client.instructions.encode()) < 2000
    async with gateway.client("auto") as client:
        assert client.protocol_version == "2026-07-28"
        assert "(acme)" in client.instructions


@pytest.mark.parametrize("era", ERAS)
async def test_text_and_fields_say_the_same(gateway: Any, era: str) -> None:
    async with gateway.client(era) as client:
        result = await client.call_tool("list_targets", {})
    assert not result.is_error
    assert json.loads(result.content[0].text) == result.structured_content
    (target,) = result.structured_content["targets"]
    assert target == {
        "id": gateway.grants.targets[0].id,
        "name": "shop",
        "provider": "acme",
        "env": "staging",
        "lockState": "locked",
        "scopes": [],
    }


@pytest.mark.parametrize("era", ERAS)
async def test_a_held_call_tells_how_it_stands_and_returns_when_decided(
    gateway: Any, era: str
) -> None:
    async with gateway.client(era) as client:
        held, said = await held_call(client)
        (grant_id,) = gateway.grants.access
        assert said[0] == (
            "read on shop waits for a person, number 1 in the queue; approve it at "
            f"{gateway.url.removesuffix('/mcp')}/grants/{grant_id}"
        )
        await gateway.grants.decide(grant_id, status="active", decided_by="user")
        result = await held
    assert result.structured_content == {
        "status": "active",
        "grantId": grant_id,
        "scope": "read",
        "expiresAt": None,
        "decidedBy": "user",
    }


@pytest.mark.parametrize("era", ERAS)
async def test_a_refusal_is_a_result_with_its_code(gateway: Any, era: str) -> None:
    async with gateway.client(era) as client:
        result = await client.call_tool("request_access", {**WANTED, "target": "nowhere"})
    assert result.is_error
    assert result.structured_content is None
    assert result.content[0].text == "no target 'nowhere' in this project (code -32005)"


@pytest.mark.parametrize("era", ERAS)
async def test_who_goes_away_ends_the_wait_and_not_the_request(gateway: Any, era: str) -> None:
    async with gateway.client(era) as client:
        held, _ = await held_call(client)
        assert gateway.held()
        held.cancel()
    await until(lambda: not gateway.held())
    (grant_id,) = gateway.grants.access
    assert gateway.grants.access[grant_id].status == "pending"
    await gateway.grants.decide(grant_id, status="denied", why="not today")
    async with gateway.client(era) as client:
        result = await client.call_tool("check_grant", {"grantId": grant_id})
    assert result.structured_content["status"] == "denied"


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_that_stops_answers_whoever_it_holds(gateway: Any, era: str) -> None:
    async with gateway.client(era) as client:
        held, _ = await held_call(client)
        gateway.server.end(gateway.running.drain)
        result = await held
    assert result.structured_content["status"] == "pending"


async def test_an_answer_at_once_is_json_and_a_held_one_is_streamed(gateway: Any) -> None:
    async with gateway.http() as http:
        plain = await http.post(gateway.url, json=call("list_targets"))
        asked = call("request_access", {**WANTED, "wait_s": 0})
        streamed = await http.post(gateway.url, json=asked)
    assert plain.headers["content-type"] == "application/json"
    assert plain.json()["result"]["structuredContent"]["targets"][0]["name"] == "shop"
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert '"status":"pending"' in streamed.text.replace(" ", "").replace("\\", "")


async def test_a_tool_that_does_not_exist_is_the_protocols_error(gateway: Any) -> None:
    async with gateway.client("legacy") as client:
        with pytest.raises(MCPError, match="there is no tool 'land'") as refused:
            await client.call_tool("land", {})
    assert refused.value.code == -32602


async def test_over_its_limit_a_task_is_told_to_wait_and_another_is_not(gateway: Any) -> None:
    other = gateway.tokens["FIXTURE-task-token"].model_copy(update={"task_id": new_id("tsk")})
    gateway.tokens["FIXTURE-other"] = other
    gateway.grants.at_once = {"status": "active", "decided_by": "policy"}
    async with gateway.client() as client:
        for _ in range(5):
            assert not (await client.call_tool("request_access", WANTED)).is_error
        over = await client.call_tool("request_access", WANTED)
        assert (await client.call_tool("list_targets", {})).is_error is False
    assert over.is_error
    said = "too many access requests; try again in a minute (code -32003)"
    assert over.content[0].text == said
    async with gateway.client(token="FIXTURE-other") as client:
        assert not (await client.call_tool("request_access", WANTED)).is_error


async def test_services_that_are_away_are_named_and_nothing_is_lost(gateway: Any) -> None:
    async with gateway.client() as client:
        gateway.grants.fails = Unavailable("grants is not running; nothing was done")
        away = await client.call_tool("list_targets", {})
        gateway.grants.fails = Internal("grants failed at list_targets; its log says why")
        failed = await client.call_tool("list_targets", {})
        gateway.grants.fails = None
        assert not (await client.call_tool("list_targets", {})).is_error
    assert away.content[0].text == (
        "grants is not running; nothing was done; try again in a moment (code -32010)"
    )
    assert "(code -32000)" in failed.content[0].text


async def test_without_the_bus_the_gateway_says_try_again(gateway: Any) -> None:
    async with gateway.http() as http:
        gateway.bus.away = True
        reply = await http.post(gateway.url, json=call("list_targets"))
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        gateway.bus.away = False
        assert (await http.post(gateway.url, json=call("list_targets"))).status_code == 200
