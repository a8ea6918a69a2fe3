"""The demo's agent: asks over MCP, then runs the real tools as any agent would.

Its report goes to stdout as JSON lines; a line on its stdin lets it go on where the story says so.
What it holds it got from Styx a moment before: its environment is checked for that first.
"""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

HELD = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "SSH_AUTH_SOCK")


def tell(step: str, **facts: Any) -> None:
    """One line of the report."""
    print(json.dumps({"step": step, **facts}), flush=True)


def run(step: str, *words: str, target: str = "", env: dict[str, str] | None = None) -> None:
    """Run a command as the agent's shell would, and report how it ended."""
    surroundings = {**os.environ, **({"STYX_TARGET": target} if target else {}), **(env or {})}
    done = subprocess.run(words, env=surroundings, capture_output=True, text=True, check=False)
    tell(step, exit=done.returncode, out=done.stdout.strip(), err=done.stderr.strip()[-600:])


async def call(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's structured result."""
    answer = await session.call_tool(tool, arguments)
    said = answer.content[0]
    if answer.is_error:
        return {"error": getattr(said, "text", "")}
    return dict(answer.structured_content or {})


async def main() -> None:
    """The story, from the agent's side."""
    held = [name for name in HELD if name in os.environ]
    tell("start", held=held)
    headers = {"Authorization": f"Bearer {os.environ['STYX_TOKEN']}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(f"{os.environ['STYX_URL']}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        tell("targets", **await call(session, "list_targets"))
        await ask_and_list(session)
        await ask_and_delete(session)


async def ask_and_list(session: ClientSession) -> None:
    """Reading staging: a policy allows it at once."""
    asked = {"target": "staging", "scopes": ["read"], "reason": "see which releases are there"}
    tell("read", **await call(session, "request_access", **asked))
    run("ls", "aws", "s3", "ls", "s3://releases", target="staging")


async def ask_and_delete(session: ClientSession) -> None:
    """Deleting on prod: a person decides, and what was issued dies with the grant."""
    asked = {"target": "prod", "scopes": ["delete"], "reason": "app-1.0 is withdrawn: remove it"}
    answer = await call(session, "request_access", **asked)
    tell("delete", **answer)
    run("rm", "aws", "s3", "rm", "s3://releases/app-1.0.tgz", target="prod")
    kept = await call(session, "get_credential", grantId=answer.get("grantId", ""))
    tell("kept", scoped=kept.get("scoped"), names=sorted(kept.get("env", {})))
    run("ssh", *ssh_words())
    sys.stdin.readline()
    # Past the shims: the kept credential itself, used after its grant was revoked.
    env = {k: v for k, v in kept.get("env", {}).items() if isinstance(v, str)}
    run("dead", real_aws(), "s3", "rm", "s3://releases/app-1.1.tgz", env=env)
    run("spent", "aws", "s3", "ls", "s3://releases", target="staging")


def ssh_words() -> list[str]:
    """What the agent says to reach the demo's host; empty options where there is none."""
    return json.loads(os.environ["STYX_DEMO_SSH"])  # type: ignore[no-any-return]


def real_aws() -> str:
    """The aws CLI behind the shim."""
    return os.environ["STYX_DEMO_AWS"]


if __name__ == "__main__":
    asyncio.run(main())
