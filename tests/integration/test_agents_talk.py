"""Agents speak to people and to each other over MCP, on a real stack."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from stack_fixture import Living, an_agent, living, mcp_call, until
from styx_cli.deciding import decide

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


async def answered(here: Living, answer: str) -> None:
    """Answer the one question that waits."""
    asked: list[dict[str, Any]] = await until(lambda: here.ask("GET", "/v1/questions"))
    await here.ask("POST", f"/v1/questions/{asked[0]['id']}/answer", {"answer": answer})


async def test_a_held_question_is_answered_from_the_board(here: Living) -> None:
    async with an_agent(here.data) as agent:
        about = {"kind": "decision", "text": "Which table?", "options": ["old", "new"]}
        held = asyncio.ensure_future(mcp_call(agent, "ask_user", **about))
        await answered(here, "new")
        assert (await held)["resolution"] == {"kind": "decision", "answer": "new"}


async def test_an_answer_given_while_nobody_waited_is_there_at_the_next_call(here: Living) -> None:
    async with an_agent(here.data) as agent:
        plan = {"kind": "plan", "text": "1. migrate"}
        with pytest.raises(AssertionError, match="stays open"):
            await mcp_call(agent, "ask_user", **plan, wait_s=0)
        await answered(here, "edit")
        told = await mcp_call(agent, "ask_user", **plan)
        assert told["resolution"] == {"kind": "plan", "answer": "edit"}


async def test_what_a_denial_names_instead_is_had_by_one_call(here: Living) -> None:
    async with an_agent(here.data) as agent:
        wanted = {"target": "prod", "scopes": ["read", "delete"], "reason": "to tidy up"}
        held = asyncio.ensure_future(mcp_call(agent, "request_access", **wanted))
        await asyncio.to_thread(decide, here.place.approver, await here.pending(), "deny")
        told = await held
        assert told["status"] == "denied"
        again = await mcp_call(agent, "request_access", **told["instead"], reason="as you said")
        assert again["status"] == "active"
        assert again["scope"].split() == told["instead"]["scopes"]


async def test_peers_see_each_other_and_hand_things_over(here: Living) -> None:
    async with an_agent(here.data) as one, an_agent(here.data) as other:
        assert await mcp_call(one, "report_status", status="moving  the\ttable") == {"ok": True}
        seen = (await mcp_call(other, "list_sessions"))["sessions"]
        by_id = {each["sessionId"]: each for each in seen}
        assert (by_id[one.task]["note"], by_id[one.task]["self"]) == ("moving the table", False)
        assert by_id[other.task]["self"] is True
        text = "the lock is mine"
        assert (await mcp_call(one, "send_message", to=other.task, text=text))["delivered"]
        (letter,) = (await mcp_call(other, "inbox"))["messages"]
        assert (letter["from"], letter["text"]) == (one.task, text)
        assert (await mcp_call(other, "inbox", after=letter["id"]))["messages"] == []
