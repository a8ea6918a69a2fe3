"""The demo: one agent's calls, all the way, on real parts, told as it happens and as a table."""

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from styx_core import telemetry
from styx_core.redact import redactor

from styx_cli import show
from styx_cli.client import Client
from styx_cli.commands.audit import check
from styx_cli.deciding import decide
from styx_cli.demo.place import Place, furnished
from styx_cli.demo.report import Checks, short, story_table
from styx_cli.failure import Failure
from styx_cli.stack import StackSettings, running_stack

WAIT_SECONDS = 60.0
REASONS = {"aws": "yes, 1.0 is withdrawn", "ssh": "this one look is fine"}


class Told:
    """Progress with the time that each part took."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f} s  {text}", flush=True)


async def demo(keep: Path | None) -> bool:
    """Play the story; whether everything went as it must."""
    telemetry.log_as_json(redactor(), "ERROR")
    data = keep or Path(tempfile.mkdtemp(prefix="styx-demo-"))
    told, checks = Told(), Checks()
    try:
        told("starting nats-server, OpenBao and the five services")
        async with running_stack(StackSettings(data)) as stack:
            told(f"Styx is up at {stack.url}")
            async with furnished(stack, data, told) as place:
                told("project `shop` is connected; reading staging is allowed by policy")
                await play(place, data, told, checks)
                await asyncio.to_thread(tell, place, checks)
    finally:
        if keep is None:
            shutil.rmtree(data, ignore_errors=True)
    return checks.ok()


async def play(place: Place, data: Path, told: Told, checks: Checks) -> None:
    """Start the agent under `styx run` and be its person."""
    aws = shutil.which("aws", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or ""
    env = {
        **os.environ,
        "PATH": f"{Path(aws).parent}:{os.environ['PATH']}",
        "STYX_DATA": str(data),
        "STYX_DEMO_AWS": aws,
        "STYX_DEMO_SSH": json.dumps(ssh_words(place)),
    }
    words = ["styx_cli", "run", "--agent", "demo-agent", "--name", "withdraw app-1.0", "--"]
    agent = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *words, sys.executable, "-m", "styx_cli.demo.agent",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL, env=env,
    )  # fmt: skip
    approving = asyncio.create_task(approve_all(place, told))
    try:
        async for line in heard(agent):
            checks.hear(line, told)
            if line["step"] == "ssh" and agent.stdin is not None:
                await asyncio.to_thread(revoke_delete, place, told)
                agent.stdin.write(b"go on\n")
    finally:
        approving.cancel()
    checks.expect("the agent ended well", await agent.wait() == 0)


async def heard(agent: asyncio.subprocess.Process) -> AsyncIterator[dict[str, Any]]:
    """The agent's report, line by line."""
    if agent.stdout is None:
        return
    while raw := await asyncio.wait_for(agent.stdout.readline(), WAIT_SECONDS):
        yield json.loads(raw)


def ssh_words(place: Place) -> list[str]:
    """What the agent types to reach the host, or a plain word where there is none."""
    if place.host is None:
        return ["true"]
    options = ["-F", "none", "-p", str(place.host.port), "-l", place.host.user]
    for option in ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR"):
        options += ["-o", option]
    return ["ssh", *options, "127.0.0.1", "cat", "/etc/hostname"]


async def approve_all(place: Place, told: Told) -> None:
    """The person: sees each request that waits, and approves it (an SSH command for once only)."""
    while True:
        for grant in await asyncio.to_thread(waiting, place):
            once = grant["provider"] == "ssh"
            what = show.command(grant["command"]) or ", ".join(grant["scopes"])
            told(f"waits for a person: {short(what)} on {grant['target']} ({grant['why']})")
            duration = "once" if once else "15m"
            await asyncio.to_thread(
                decide, place.approver, grant, "approve", (), duration, REASONS[grant["provider"]]
            )
            told(f"approved and signed by owner, for {duration}")
        await asyncio.sleep(0.2)


def waiting(place: Place) -> list[dict[str, Any]]:
    """The requests that wait."""
    found: list[dict[str, Any]] = place.approver.client.call("GET", "/v1/grants", state="pending")
    return found


def revoke_delete(place: Place, told: Told) -> None:
    """End the grant that may delete on prod."""
    client: Client = place.approver.client
    for grant in client.call("GET", "/v1/grants", state="active"):
        if "delete" in grant["scopes"]:
            client.call("POST", f"/v1/grants/{grant['id']}/revoke", {"reason": "done"})
            told(f"revoked {grant['id']}: {grant['revocable']}")


def tell(place: Place, checks: Checks) -> None:
    """The story as a table, and the log's own proof."""
    client = place.approver.client
    grants = client.call("GET", "/v1/grants")
    print()
    story_table(grants)
    if place.no_host:
        print(f"\nThe SSH part was left out: {place.no_host}.")
    try:
        key = client.call("GET", "/audit/checkpoint")["key"]
        verdict = check(client.lines("/audit/export"), key)
        checks.expect(f"the audit log verifies ({verdict.proven} entries)", verdict.ok)
    except Failure as failure:
        checks.expect(f"the audit log verifies: {failure}", False)
    checks.show()
