"""Two gateways behind a balancer: nothing is kept in either, and one that stops answers everyone.

Both run as processes of their own on a real stack's NATS.
"""

import asyncio
import itertools
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import mcp
import pytest
import pytest_asyncio
from mcp.client.streamable_http import streamable_http_client
from node_programs import relayed
from parts_fixture import Service, made
from stack_fixture import PATIENCE, Agent, Living, an_agent, living, until

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

ERAS = ("2026-07-28", "legacy")
WANTED = {"target": "prod", "scopes": ["read"], "reason": "look around"}


@dataclass
class Two:
    """A stack, and two gateways beside its own."""

    here: Living
    first: Service
    second: Service


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def two(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Two]:
    async with AsyncExitStack() as stack:
        here = await stack.enter_async_context(living(tmp_path_factory.mktemp("stack") / "data"))
        replicas = [made(here.data, here.stack.engines, "mcp-gateway") for _ in range(2)]
        for each in replicas:
            stack.push_async_callback(each.end)
        await asyncio.gather(*(each.start() for each in replicas))
        yield Two(here, *replicas)


@pytest_asyncio.fixture(loop_scope="module")
async def agent(two: Two) -> AsyncIterator[Agent]:
    async with an_agent(two.here.data) as one:
        yield one


@asynccontextmanager
async def client(agent: Agent, url: str, era: str = "auto") -> AsyncIterator[mcp.Client]:
    """The SDK's client, with a new connection for each request."""
    bearer = {"Authorization": f"Bearer {agent.token}"}
    each = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(headers=bearer, timeout=60, limits=each) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with mcp.Client(transport, mode=era) as one:
            yield one


async def held(one: mcp.Client, tool: str, **arguments: Any) -> "asyncio.Task[Any]":
    """A call that waits for a person."""
    told: list[str] = []

    async def hear(_progress: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")

    await one.list_tools()
    calling = asyncio.create_task(one.call_tool(tool, arguments, progress_callback=hear))
    await until(lambda: told or calling.done())
    assert not calling.done()
    return calling


@pytest.mark.parametrize("era", ERAS)
async def test_any_replica_answers_any_request(two: Two, agent: Agent, era: str) -> None:
    turns = itertools.cycle([two.first.url, two.second.url])
    async with relayed(lambda: next(turns)) as url, client(agent, url, era) as one:
        for _ in range(4):
            assert (await one.call_tool("list_targets", {})).structured_content["targets"]


@pytest.mark.parametrize("era", ERAS)
async def test_a_request_of_one_is_waited_for_at_the_other(
    two: Two, agent: Agent, era: str
) -> None:
    async with (
        client(agent, two.first.url, era) as first,
        client(agent, two.second.url, era) as second,
    ):
        begun = await first.call_tool("request_access", {**WANTED, "wait_s": 0})
        grant = begun.structured_content
        assert grant["status"] == "pending"
        resumed = await held(second, "check_grant", grantId=grant["grantId"])
        await two.here.approve(await two.here.pending())
        assert (await resumed).structured_content["status"] == "active"


async def test_one_that_stops_answers_all_that_it_holds_and_the_other_goes_on(
    two: Two, agent: Agent
) -> None:
    async with AsyncExitStack() as clients:
        calls = []
        for era in ERAS:
            one = await clients.enter_async_context(client(agent, two.first.url, era))
            calls.append(await held(one, "request_access", **WANTED))
            calls.append(await held(one, "ask_user", kind="question", text=f"Which of {era}?"))
        assert two.first.process is not None
        two.first.process.send_signal(signal.SIGTERM)
        for access, asked in (calls[:2], calls[2:]):
            assert (await access).structured_content["status"] == "pending"
            assert (await asked).is_error
            assert "nobody has answered yet" in (await asked).content[0].text
        assert await asyncio.wait_for(two.first.process.wait(), PATIENCE) == 0
    request = await two.here.pending()
    async with client(agent, two.second.url) as second:
        resumed = await held(second, "check_grant", grantId=request["id"])
        await two.here.approve(request)
        assert (await resumed).structured_content["status"] == "active"
    await two.first.start()
