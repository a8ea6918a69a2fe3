"""What `styx connect` wrote, read by the clients themselves, in an empty home and with no login."""

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from node_programs import MODULES, NODE
from stack_fixture import BIN, Done, Living, an_agent, finished, living

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]
CLIENTS = MODULES / ".bin"


def installed(name: str) -> Any:
    """A mark that leaves a test out where the client isn't there."""
    why = f"needs {name} from npm (tests/needs.sh)"
    return pytest.mark.skipif(not NODE or not (CLIENTS / name).exists(), reason=why)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


def at_home(home: Path) -> dict[str, str]:
    """An environment whose home is this folder."""
    path = f"{BIN}:{CLIENTS}:{Path(NODE).parent}:{os.environ['PATH']}"
    return {"HOME": str(home), "PATH": path, "NO_COLOR": "1"}


async def typed(home: Path, *words: str) -> Done:
    """A command line in that home, which is its working folder too."""
    return await finished("sh", "-c", 'cd "$HOME" && exec "$@"', "sh", *words, env=at_home(home))


@installed("codex")
async def test_codex_reads_its_file(tmp_path: Path) -> None:
    done = await typed(tmp_path, "styx", "connect", "codex")
    assert done.code == 0, done.err
    (server,) = json.loads((await typed(tmp_path, "codex", "mcp", "list", "--json")).out)
    assert (server["name"], server["enabled"]) == ("styx", True)
    assert (server["transport"]["command"], server["transport"]["args"]) == ("styx", ["mcp"])
    assert "STYX_TOKEN" in server["transport"]["env_vars"]
    words = ("--http", "--server", "https://styx.example", "--token-env", "STYX_TOKEN")
    assert (await typed(tmp_path, "styx", "connect", "codex", *words)).code == 0
    (server,) = json.loads((await typed(tmp_path, "codex", "mcp", "list", "--json")).out)
    assert server["transport"]["url"] == "https://styx.example/mcp"
    assert server["transport"]["bearer_token_env_var"] == "STYX_TOKEN"


@installed("claude")
@pytest.mark.parametrize("channel", [(), ("--channel",)])
async def test_claude_code_starts_it_in_a_task_and_is_connected(
    here: Living, tmp_path: Path, channel: tuple[str, ...]
) -> None:
    done = await typed(tmp_path, "styx", "connect", "claude", *channel)
    assert done.code == 0, done.err
    allowed = tmp_path / ".claude/settings.local.json"  # as its person says when it asks
    allowed.parent.mkdir()
    allowed.write_text(json.dumps({"enabledMcpjsonServers": ["styx"]}))
    async with an_agent(here.data, **at_home(tmp_path)) as agent:
        found = await agent.run("sh", "-c", 'cd "$HOME" && claude mcp list')
    assert "styx: styx mcp" in found.out, found.err
    assert "Connected" in found.out
