"""Claude Code and Codex, from npm and without any login of theirs, sign in to Styx with OAuth."""

import re
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from browser_fixture import Visitor
from node_programs import MODULES, NODE, missing
from pty_fixture import in_terminal
from stack_fixture import Living
from web_fixture import WEB, a_browser, a_stack, an_owner

pytestmark = WEB
CLAUDE, CODEX = "@anthropic-ai/claude-code/bin/claude.exe", "@openai/codex/bin/codex.js"
LEADS = re.compile(r"(http://127\.0\.0\.1:\d+/oauth/authorize\?[^\s]+)\s")

here = pytest_asyncio.fixture(a_stack, scope="module", loop_scope="module")
browser = pytest_asyncio.fixture(a_browser, scope="module", loop_scope="module")
owner = pytest_asyncio.fixture(an_owner, scope="module", loop_scope="module")


class Program:
    """One of them in an empty home, and its person's browser."""

    def __init__(self, home: Path, owner: Visitor, *start: str) -> None:
        self._owner, self._start, self.approved = owner, start, 0
        path = f"{Path(NODE).parent}:/usr/bin:/bin"
        self._env = {"HOME": str(home), "PATH": path, "TERM": "xterm", "BROWSER": "/bin/true"}
        self._env |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "NO_COLOR": "1"}

    async def run(self, *words: str) -> str:
        """What it says; where it leads its person, they approve, once."""
        before = self.approved

        async def hear(said: str) -> None:
            found = LEADS.search(said)
            if found is not None and self.approved == before:
                self.approved += 1
                await self._owner.page.goto(found[1])
                await self._owner.page.click("button[value=approve]")
                await self._owner.page.wait_for_url("**code=**", wait_until="commit")

        code, said = await in_terminal(*self._start, *words, env=self._env, hear=hear)
        assert code == 0, said
        return said


async def clients(here: Living) -> list[dict[str, Any]]:
    """Who is connected."""
    found: list[dict[str, Any]] = await here.ask("GET", "/v1/clients")
    return found


async def leave(owner: Visitor) -> None:
    """The program's own page is gone before it is whole, and the console says so."""
    await owner.show("/board")
    owner.wrong.clear()


@pytest.mark.skipif(bool(missing(CLAUDE)), reason=missing(CLAUDE))
async def test_claude_code_signs_in_and_out(here: Living, owner: Visitor, tmp_path: Path) -> None:
    claude = Program(tmp_path, owner, str(MODULES / CLAUDE), "mcp")
    await claude.run("add", "--transport", "http", "styx", f"{here.stack.url}/mcp")
    assert "Needs authentication" in await claude.run("list")
    said = await claude.run("login", "--no-browser", "styx")
    assert 'Authenticated with "styx"' in said
    assert claude.approved == 1
    (client,) = await clients(here)
    assert client["client"] == "Claude Code (styx)"
    (task,) = [t for t in await here.ask("GET", "/v1/tasks") if t["id"] == client["task_id"]]
    assert task["agent"] == "Claude-Code-styx"
    assert "Connected" in await claude.run("list")
    await claude.run("logout", "styx")
    assert await clients(here) == [], "signing out revokes"
    assert "Needs authentication" in await claude.run("list")
    await leave(owner)


@pytest.mark.skipif(bool(missing(CODEX)), reason=missing(CODEX))
async def test_codex_signs_in(here: Living, owner: Visitor, tmp_path: Path) -> None:
    codex = Program(tmp_path, owner, NODE, str(MODULES / CODEX), "mcp")
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex/config.toml").write_text('mcp_oauth_credentials_store = "file"\n')
    said = await codex.run("add", "styx", "--url", f"{here.stack.url}/mcp")
    assert "Successfully logged in" in said
    assert codex.approved == 1
    (client,) = await clients(here)
    assert client["client"] == "Codex"
    assert "OAuth" in await codex.run("list")
    await codex.run("logout", "styx")
    assert "Not logged in" in await codex.run("list")
    await here.ask("POST", f"/v1/clients/{client['id']}/revoke")
    await leave(owner)
