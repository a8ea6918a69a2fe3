"""The SDK's own client and FastMCP's, in both eras, at a real stack: they list, call and wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import fastmcp
import httpx2
import mcp
import pytest
import pytest_asyncio
from fastmcp.client.transports import StreamableHttpTransport
from mcp.client.streamable_http import streamable_http_client
from stack_fixture import Agent, Living, an_agent, living, until
from styx_core.telemetry import WAITING
from styx_mcp_gateway.registry import TOOLS

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

Hear = Callable[[float, float | None, str | None], Awaitable[None]]
WANTED = {"target": "prod", "scopes": ["read"], "reason": "look around"}


class Caller:
    """One client, whoever made it."""

    def __init__(self, client: Any, hearing: str, **calling: Any) -> None:
        self._client, self._hearing, self._calling = client, hearing, calling

    async def names(self) -> list[str]:
        """The tools that it finds."""
        listed = await self._client.list_tools()
        return [tool.name for tool in getattr(listed, "tools", listed)]

    async def call(self, tool: str, arguments: dict[str, Any], hear: Hear | None = None) -> Any:
        """The result, a refusal too."""
        return await self._client.call_tool(
            tool, arguments, **{self._hearing: hear}, **self._calling
        )


@asynccontextmanager
async def sdk(agent: Agent, era: str) -> AsyncIterator[Caller]:
    bearer = {"Authorization": f"Bearer {agent.token}"}
    async with httpx2.AsyncClient(headers=bearer, timeout=60) as http:
        transport = streamable_http_client(f"{agent.environ['STYX_URL']}/mcp", http_client=http)
        async with mcp.Client(transport, mode=era) as client:
            yield Caller(client, "progress_callback")


@asynccontextmanager
async def fast(agent: Agent, era: str) -> AsyncIterator[Caller]:
    transport = StreamableHttpTransport(f"{agent.environ['STYX_URL']}/mcp", auth=agent.token)
    async with fastmcp.Client(transport, mode=era) as client:
        yield Caller(client, "progress_handler", raise_on_error=False)


Opener = Callable[[Agent], AbstractAsyncContextManager[Caller]]


@pytest.fixture(params=["2026-07-28", "legacy"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[sdk, fast], ids=lambda made: made.__name__)
def opened(request: pytest.FixtureRequest, era: str) -> Opener:
    return lambda agent: request.param(agent, era)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="module")
async def agent(here: Living) -> AsyncIterator[Agent]:
    async with an_agent(here.data) as one:
        yield one


async def held_call(client: Caller) -> tuple[asyncio.Task[Any], list[str]]:
    """A request that waits for a person, and what its client hears meanwhile."""
    told: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    await client.names()
    held = asyncio.create_task(client.call("request_access", WANTED, hear))
    await until(lambda: told or held.done())
    assert not held.done()
    return held, told


def held_now() -> int:
    """Callers that the gateway, which runs in this process, holds."""
    return int(WAITING.labels("mcp-gateway")._value.get())


async def test_it_finds_and_calls_the_tools(agent: Agent, opened: Opener) -> None:
    async with opened(agent) as client:
        assert await client.names() == [tool.name for tool in TOOLS]
        found = await client.call("list_targets", {})
        names = [target["name"] for target in found.structured_content["targets"]]
        assert {"prod", "staging"} <= set(names)
        refused = await client.call("request_access", {**WANTED, "target": "nowhere"})
    assert refused.is_error
    assert refused.content[0].text.endswith("(code -32005)")


async def test_it_is_told_how_a_held_request_stands_until_it_is_approved(
    here: Living, agent: Agent, opened: Opener
) -> None:
    async with opened(agent) as client:
        held, told = await held_call(client)
        request = await here.pending()
        assert told[0].startswith("read on prod waits for a person")
        assert request["id"] in told[0]
        await here.approve(request)
        result = await held
    assert result.structured_content["status"] == "active"
    assert result.structured_content["grantId"] == request["id"]


async def test_when_it_cancels_and_leaves_the_wait_ends_and_the_request_stays(
    here: Living, agent: Agent, opened: Opener, era: str
) -> None:
    async with opened(agent) as client:
        held, _ = await held_call(client)
        request = await here.pending()
        assert held_now()
        held.cancel()
        if (
            era != "legacy"
        ):  # there a cancellation names a call, and without sessions nobody knows it
            await until(lambda: not held_now())
        assert (await here.pending())["id"] == request["id"]
    await until(lambda: not held_now())
    await here.approve(request)
    async with opened(agent) as client:
        later = await client.call("check_grant", {"grantId": request["id"]})
    assert later.structured_content["status"] == "active"
