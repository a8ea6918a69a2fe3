"""Claude Code and Codex from npm, each in an empty home, with a model that a test plays.

Nothing of theirs leaves this machine: the only proxy they know is a port where nobody is.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from node_programs import MODULES
from stack_fixture import Agent, Done

CLAUDE = MODULES / "@anthropic-ai/claude-code/bin/claude.exe"
CODEX = next((MODULES / "@openai").glob("codex-*/vendor/*/bin/codex"), Path("/nowhere"))
TASK = "Look around."
NOWHERE = "http://127.0.0.1:9"
QUIET = {
    "HTTP_PROXY": NOWHERE,
    "HTTPS_PROXY": NOWHERE,
    "NO_PROXY": "127.0.0.1,localhost",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ENABLE_TOOL_SEARCH": "false",
}
LONGEST = 400


@dataclass(frozen=True)
class Program:
    """An agent's program, at one gateway as one task."""

    agent: Agent
    home: Path

    @property
    def gateway(self) -> str:
        """Its `/mcp`."""
        return f"{self.agent.environ['STYX_URL']}/mcp"

    async def run(self, program: Path, *words: str, env: Mapping[str, str] = {}) -> Done:
        """Run it to its end."""
        own = {"PATH": os.environ["PATH"], "HOME": str(self.home), "STYX_TOKEN": self.agent.token}
        made = await asyncio.create_subprocess_exec(
            *(str(program), *words),
            env={**own, **QUIET, **env},
            cwd=self.home,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(made.communicate(), LONGEST)
        finally:
            if made.returncode is None:
                made.kill()
        return Done(made.returncode or 0, out.decode(), err.decode())


class Claude(Program):
    """Claude Code, printing."""

    async def work(self, model: str) -> Done:
        """Have its model do the task."""
        headers = {"Authorization": "Bearer ${STYX_TOKEN}"}
        server = {"type": "http", "url": self.gateway, "headers": headers}
        env = {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "FIXTURE-key"}
        return await self.run(
            *(CLAUDE, "-p", TASK, "--allowedTools", "mcp__styx", "--strict-mcp-config"),
            *("--mcp-config", json.dumps({"mcpServers": {"styx": server}})),
            env=env,
        )


class Codex(Program):
    """Codex, executing."""

    async def work(self, model: str) -> Done:
        """Have its model do the task."""
        settings = {
            "model": "played",
            "model_provider": "played",
            "approval_policy": "never",
            "model_providers.played.name": "played",
            "model_providers.played.base_url": f"{model}/v1",
            "model_providers.played.wire_api": "responses",
            "model_providers.played.env_key": "MODEL_KEY",
            "mcp_servers.styx.url": self.gateway,
            "mcp_servers.styx.bearer_token_env_var": "STYX_TOKEN",
            "mcp_servers.styx.default_tools_approval_mode": "approve",
        }
        words = [w for key, value in settings.items() for w in ("-c", f"{key}={json.dumps(value)}")]
        return await self.run(
            *(CODEX, "exec", "--skip-git-repo-check", *words, TASK),
            env={"MODEL_KEY": "FIXTURE-key"},
        )
