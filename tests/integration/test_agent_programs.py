"""Claude Code and Codex themselves, without a login: they connect, wait, and read what came of it.

Claude Code gives a call up after 60 s without a byte and 300 s without an event, Codex after 300 s.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from agent_programs import CLAUDE, CODEX, Claude, Codex, Program
from model_player import playing
from stack_fixture import PATIENCE, Living, an_agent, living, until

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

WANTED = {"target": "prod", "scopes": ["read"], "reason": "look around"}
LONG = "STYX_TEST_LONG_HOLDS"
TAKES_MINUTES = pytest.mark.skipif(
    not os.environ.get(LONG), reason=f"holds calls for minutes: set {LONG}=1 to run it"
)
ABSENT = {
    made: "" if program.exists() else f"needs {name} from npm, built for this machine"
    for made, program, name in (
        (Claude, CLAUDE, "@anthropic-ai/claude-code"),
        (Codex, CODEX, "@openai/codex"),
    )
}
EACH = [
    pytest.param(made, marks=pytest.mark.skipif(bool(why), reason=why), id=made.__name__)
    for made, why in ABSENT.items()
]
PRESENT = [made for made, why in ABSENT.items() if not why]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(loop_scope="module", params=EACH)
async def program(
    here: Living, request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Program]:
    async with an_agent(here.data) as agent:
        yield request.param(agent, tmp_path)


@pytest_asyncio.fixture(loop_scope="module")
async def all_of_them(
    here: Living, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[list[Program]]:
    if not PRESENT:
        pytest.skip("; ".join(ABSENT.values()))
    async with AsyncExitStack() as agents:
        yield [
            made(
                await agents.enter_async_context(an_agent(here.data)),
                tmp_path_factory.mktemp("home"),
            )
            for made in PRESENT
        ]


async def heard(program: Program, **arguments: Any) -> str:
    """What its model reads of a request_access."""
    async with playing("request_access", {**WANTED, **arguments}) as model:
        done = await program.work(model.url)
    assert model.heard, done.out + done.err
    return model.heard[0].replace(" ", "")


async def held(programs: list[Program], seconds: float) -> list["asyncio.Task[str]"]:
    """A call of each, all still held after so long."""
    loop = asyncio.get_running_loop()
    calls = [asyncio.create_task(heard(program)) for program in programs]
    end = loop.time() + seconds
    await until(lambda: loop.time() > end or any(c.done() for c in calls), seconds + PATIENCE)
    assert not any(call.done() for call in calls)
    return calls


@pytest.mark.skipif(bool(ABSENT[Claude]), reason=ABSENT[Claude])
async def test_claude_code_adds_the_server_and_finds_it_connected(
    here: Living, tmp_path: Path
) -> None:
    async with an_agent(here.data) as agent:
        claude = Claude(agent, tmp_path)
        bearer = "Authorization: Bearer ${STYX_TOKEN}"
        words = ("--transport", "http", "styx", claude.gateway, "--header", bearer)
        added = await claude.run(CLAUDE, "mcp", "add", *words)
        assert added.code == 0, added.err
        for words in (("list",), ("get", "styx")):
            told = await claude.run(CLAUDE, "mcp", *words)
            assert "Connected" in told.out
            assert agent.token not in told.out
    kept = [path.read_text() for path in tmp_path.rglob("*.json")]
    assert kept
    assert not any(agent.token in text for text in kept)


async def test_nobody_decides_so_it_reads_pending(here: Living, program: Program) -> None:
    assert '"status":"pending"' in (await heard(program, wait_s=1)).replace("\\", "")
    assert await here.pending()
    await here.approve(await here.pending())


async def test_it_reads_a_refusal_with_its_code(program: Program) -> None:
    assert "(code-32005)" in await heard(program, target="nowhere")


@pytest.mark.parametrize("seconds", [20, pytest.param(200, marks=TAKES_MINUTES)])
async def test_a_call_held_for_long_is_answered_when_approved(
    here: Living, all_of_them: list[Program], seconds: int
) -> None:
    calls = await held(all_of_them, seconds)
    waiting = await here.grants("pending")
    assert len(waiting) == len(calls)
    for request in waiting:
        await here.approve(request)
    for call in calls:
        assert '"status":"active"' in (await call).replace("\\", "")


@TAKES_MINUTES
async def test_a_call_that_nobody_decides_is_pending_before_its_client_gives_up(
    all_of_them: list[Program],
) -> None:
    for call in await held(all_of_them, 230):
        assert '"status":"pending"' in (await call).replace("\\", "")
