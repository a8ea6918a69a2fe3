"""A furnished stack, browsers with passkeys of their own, an agent whose calls wait for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from browser_fixture import MISSING, Visitor, chromium
from playwright.async_api import Browser
from stack_fixture import Agent, Living, an_agent, living
from styx_cli.commands.passkey import own_link

WEB = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]
REMOVE = ("aws", "s3", "rm")


async def a_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    """One stack for a module."""
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


async def a_browser() -> AsyncIterator[Browser]:
    """One browser for a module."""
    async with chromium() as one:
        yield one


async def an_owner(here: Living, browser: Browser) -> AsyncIterator[Visitor]:
    """The owner, in a browser of their own; nothing on the pages may go wrong."""
    visitor = await Visitor.opened(browser, here.stack.url)
    await visitor.join(await asyncio.to_thread(own_link, here.place.approver), "owner")
    yield visitor
    assert visitor.wrong == []


async def a_task(here: Living) -> AsyncIterator[Agent]:
    """A new task for each test."""
    async with an_agent(here.data) as one:
        yield one


async def waiting(here: Living, agent: Agent, name: str) -> "asyncio.Future[Any]":
    """A prod delete that waits for a person."""
    call = asyncio.ensure_future(agent.run(*REMOVE, f"s3://releases/{name}", target="prod"))
    await until_async(lambda: pending(here, name))
    return call


async def pending(here: Living, name: str) -> bool:
    """Whether such a request waits."""
    return any(name in " ".join(each["command"]) for each in await here.grants("pending"))


async def until_async(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait for something that has to be asked for."""
    async with asyncio.timeout(20):
        while not await holds():
            await asyncio.sleep(0.05)
