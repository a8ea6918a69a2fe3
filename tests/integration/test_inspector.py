"""The protocol's Inspector, on its command line and in both eras: what it makes of our schemas, of
every tool's answer, and of a refusal."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from node_programs import INSPECTOR, missing, run
from schema_values import right
from stack_fixture import Agent, Done, an_agent, living
from styx_mcp_gateway.registry import TOOLS
from styx_mcp_gateway.tool import Tool

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(missing(INSPECTOR)), reason=missing(INSPECTOR)),
]

ERAS = ("legacy", "modern")
IS_ERROR = 5
"""Inspector's exit code for a result that says `isError`."""
WANTED = {"target": "staging", "scopes": ["read"], "reason": "look around"}


@dataclass
class Inspector:
    """The program, at one gateway as one agent."""

    agent: Agent
    peer: Agent
    home: Path

    async def __call__(self, era: str, method: str, *words: str) -> Done:
        where = ("--server-url", f"{self.agent.environ['STYX_URL']}/mcp", "--transport", "http")
        whose = ("--header", f"Authorization: Bearer {self.agent.token}")
        how = ("--protocol-era", era, "--format", "json", "--method", method)
        return await run(INSPECTOR, "--cli", *where, *whose, *how, *words, home=self.home)

    async def call(self, era: str, tool: str, arguments: Any) -> tuple[int, dict[str, Any]]:
        """A tool's call: the exit code and the result."""
        given = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        done = await self(era, "tools/call", *given)
        assert done.code in (0, IS_ERROR), done.err + done.out
        return done.code, json.loads(done.out)["result"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def inspector(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Inspector]:
    data = tmp_path_factory.mktemp("stack") / "data"
    async with living(data), an_agent(data) as agent, an_agent(data) as peer:
        yield Inspector(agent, peer, tmp_path_factory.mktemp("home"))


@pytest.mark.parametrize("era", ERAS)
async def test_it_finds_the_schemas_of_all_tools_portable(inspector: Inspector, era: str) -> None:
    done = await inspector(era, "tools/list", "--strict")
    assert (done.code, done.err.strip()) == (0, "")
    listed = [tool["name"] for tool in json.loads(done.out)["result"]["tools"]]
    assert listed == [tool.name for tool in TOOLS]


async def test_every_tool_is_called_and_answers(inspector: Inspector) -> None:
    _, granted = await inspector.call("modern", "request_access", WANTED)
    grant = {"grantId": granted["structuredContent"]["grantId"]}
    working: dict[str, Any] = {
        "list_targets": {},
        "request_access": WANTED,
        "check_grant": grant,
        "get_credential": grant,
        "report_status": {"status": "looking around"},
        "list_sessions": {},
        "send_message": {"to": inspector.peer.task, "text": "the lock is mine"},
        "inbox": {},
    }

    async def call(tool: Tool[Any]) -> None:
        arguments = working.get(tool.name) or right(tool.input_schema())
        if "wait_s" in tool.input_schema()["properties"]:
            arguments = {**arguments, "wait_s": 0}
        code, result = await inspector.call("modern", tool.name, arguments)
        assert result["content"][0]["text"]
        assert result["isError"] == (code == IS_ERROR)
        assert ("structuredContent" in result) == (code == 0)
        assert code == 0 or tool.name not in working, result

    await asyncio.gather(*map(call, TOOLS))


@pytest.mark.parametrize("era", ERAS)
async def test_a_refusal_is_seen_as_one(inspector: Inspector, era: str) -> None:
    code, result = await inspector.call(era, "request_access", {**WANTED, "target": "nowhere"})
    assert code == IS_ERROR
    assert result["content"][0]["text"].endswith("(code -32005)")
