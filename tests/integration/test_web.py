"""People decide in a real browser, on a real stack: joining, passkeys, approving and denying."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from browser_fixture import MISSING, Visitor, chromium
from playwright.async_api import Browser
from stack_fixture import Agent, Living, an_agent, living
from styx_cli.commands.passkey import own_link

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(MISSING), reason=MISSING),
]

REMOVE = ("aws", "s3", "rm", "s3://releases/notes.txt")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def owner(here: Living, browser: Browser) -> AsyncIterator[Visitor]:
    visitor = await Visitor.opened(browser, here.stack.url)
    await visitor.join(await asyncio.to_thread(own_link, here.place.approver), "owner")
    yield visitor
    assert visitor.wrong == []


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(here: Living) -> AsyncIterator[Agent]:
    async with an_agent(here.data) as one:
        yield one


async def test_a_prod_delete_is_approved_with_the_passkey(owner: Visitor, agent: Agent) -> None:
    await owner.show("/")
    assert "Nothing waits" in await owner.page.inner_text("main")
    call = asyncio.ensure_future(agent.run(*REMOVE, target="prod"))
    card = await owner.page.wait_for_selector("article.delete")
    assert card is not None
    text = await card.inner_text()
    assert "aws s3 rm s3://releases/notes.txt" in text
    assert "agent of owner" in text
    await owner.photograph("approvals")
    await owner.page.click("text=Approve with passkey")
    done = await call
    assert done.code == 0, done
    await owner.page.wait_for_selector("text=by owner")
    await owner.photograph("decided")
