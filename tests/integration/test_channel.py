"""`styx mcp --channel` as an agent's client starts it, on a real stack: what a session hears."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from stack_fixture import PATIENCE, Agent, Living, an_agent, detached, mcp_call, until, up

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
WANTED = {"target": "prod", "scopes": ["delete"], "reason": "clear the old bucket"}
PUSH = "notifications/claude/channel"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with detached(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@dataclass
class Session:
    """A client's session with the bridge: answers by their ids, and what was pushed."""

    process: asyncio.subprocess.Process
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    pushed: list[dict[str, Any]] = field(default_factory=list)
    count: int = 0

    def say(self, method: str, number: int | None = None, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        message |= {} if number is None else {"id": number}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        number = self.count
        self.say(method, number, **params)
        found: dict[str, Any] = await until(lambda: self.answers.get(number))
        return dict(found["result"])

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.ask("tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        return dict(result["structuredContent"])

    async def hear(self) -> tuple[str, str, str]:
        """The next that is pushed: its kind, what it is about, and the sentence."""
        params = (await until(lambda: self.pushed and self.pushed.pop(0)))["params"]
        return params["meta"]["kind"], params["meta"]["about"], params["content"]

    async def listen(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            message = json.loads(line)
            if message.get("method") == PUSH:
                self.pushed.append(message)
            elif "id" in message:
                self.answers[message["id"]] = message


@asynccontextmanager
async def a_session(agent: Agent) -> AsyncIterator[Session]:
    """`styx mcp --channel` with the agent's environment, initialized."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "styx_cli", "mcp", "--channel"),
        env=agent.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    session = Session(process)
    hearing = asyncio.create_task(session.listen())
    try:
        known = {"protocolVersion": "2025-11-25", "capabilities": {}}
        client = {"name": "test", "version": "1"}
        said = await session.ask("initialize", **known, clientInfo=client)
        assert said["capabilities"]["experimental"] == {"claude/channel": {}}
        session.say("notifications/initialized")
        yield session
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(PATIENCE):
            await process.wait()
        hearing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hearing


@asynccontextmanager
async def talking(here: Living) -> AsyncIterator[tuple[Agent, Agent, Session]]:
    """An agent, a peer of it, and the agent's session."""
    async with (
        an_agent(here.data) as agent,
        an_agent(here.data) as peer,
        a_session(agent) as session,
    ):
        yield agent, peer, session


async def decide(here: Living, verdict: str, *more: str) -> str:
    """A person decides the one request that waits."""
    request: dict[str, Any] = await here.pending()
    done = await here.styx(verdict, request["id"], *more, owner=True)
    assert done.code == 0, done.err
    return str(request["id"])


async def asked(agent: Agent, text: str) -> str:
    """Ask a question, and don't wait; returns its id."""
    with pytest.raises(AssertionError, match="stays open"):
        await mcp_call(agent, "ask_user", kind="question", text=text, wait_s=0)
    return text


async def answered(here: Living, text: str, answer: str) -> str:
    found: list[dict[str, Any]] = await until(lambda: here.ask("GET", "/v1/questions"))
    question = next(each["id"] for each in found if each["text"] == text)
    await here.ask("POST", f"/v1/questions/{question}/answer", {"answer": answer})
    return str(question)


async def test_a_session_hears_what_happens_to_its_task(here: Living) -> None:
    async with an_agent(here.data) as agent, an_agent(here.data) as peer:
        await mcp_call(peer, "send_message", to=agent.task, text="before you came")
        async with a_session(agent) as session:
            assert (await mcp_call(agent, "request_access", **WANTED, wait_s=0))["status"] == (
                "pending"
            )
            grant = await decide(here, "approve", "--yes", "--for", "15m")
            kind, about, text = await session.hear()
            assert (kind, about) == ("decision", grant), "what was there before isn't pushed"
            assert "approved your request: you hold delete on prod until" in text

            await asked(agent, "Which table?")
            question = await answered(here, "Which table?", "the new one")
            assert (await session.hear())[:2] == ("answer", question)

            await mcp_call(peer, "send_message", to=agent.task, text='mind "the" lock')
            kind, about, text = await session.hear()
            assert (kind, about) == ("message", peer.task)
            assert f"({peer.task}), a peer: \"mind 'the' lock\"" in text

            await here.styx("revoke", grant, "--reason", "enough")
            assert (await session.hear())[:2] == ("ended", grant)
            kinds = [each["kind"] for each in (await session.call("inbox"))["messages"]]
            assert kinds == ["message", "decision", "answer", "message", "ended"]


async def test_what_it_asked_and_was_answered_is_not_pushed(here: Living) -> None:
    async with an_agent(here.data) as agent, a_session(agent) as session:
        held = asyncio.create_task(session.call("request_access", **WANTED))
        grant = await decide(here, "deny", "--reason", "not today")
        assert (await held)["status"] == "denied"
        held = asyncio.create_task(session.call("ask_user", kind="question", text="Now?"))
        question = await answered(here, "Now?", "no")
        assert (await held)["resolution"]["answer"] == "no"
        peer = f"tsk_{'0' * 26}"
        assert (await session.call("channel_mute", ids=[peer]))["muted"] == [peer]
        await asked(agent, "And now?")
        later = await answered(here, "And now?", "yes")
        assert (await session.hear())[:2] == ("answer", later)
        told = [each["about"] for each in (await session.call("inbox"))["messages"]]
        assert told == [grant, question, later], "all of it can be read"


async def test_what_is_muted_is_not_pushed_and_can_be_read(here: Living) -> None:
    async with talking(here) as (agent, peer, session):
        await session.call("channel_mute", all=True)
        await session.call("channel_unmute", ids=[peer.task])
        await asked(agent, "Unheard?")
        await answered(here, "Unheard?", "yes")
        await mcp_call(peer, "send_message", to=agent.task, text="heard")
        assert (await session.hear())[:2] == ("message", peer.task)
        assert session.pushed == []
        assert len((await session.call("inbox"))["messages"]) == 2


async def test_a_restart_of_the_server_loses_nothing_and_repeats_nothing(here: Living) -> None:
    async with talking(here) as (agent, peer, session):
        await mcp_call(peer, "send_message", to=agent.task, text="one")
        assert '"one"' in (await session.hear())[2]
        assert (await here.styx("down")).code == 0
        said = await up(here.data)
        assert said.code == 0, said.err
        await mcp_call(peer, "send_message", to=agent.task, text="two")
        assert '"two"' in (await session.hear())[2]
        await mcp_call(peer, "send_message", to=agent.task, text="three")
        assert '"three"' in (await session.hear())[2]


async def test_a_client_s_file_starts_it_in_a_task(here: Living, tmp_path: Path) -> None:
    """`styx connect`, then the very command of the file under `styx run`."""
    done = await here.styx("connect", "codex", "--dry-run", "--json")
    assert done.code == 0, done.err
    async with an_agent(here.data) as agent:
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        found = await agent.run("sh", "-c", f"echo '{line}' | styx mcp")
        assert found.code == 0, found.err
        names = [tool["name"] for tool in json.loads(found.out)["result"]["tools"]]
        assert "request_access" in names
        assert "channel_mute" not in names
