"""One running embedded stack with an owner, a project and its targets, and an agent in it.

`living` is the stack in this process; `Agent` is a real `styx run`, whose agent obeys the test
(`agent_puppet`); `styx` is the command itself, run as a person would.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from styx_cli.deciding import decide
from styx_cli.demo.place import Place, furnished
from styx_cli.local import read_stack
from styx_cli.stack import Stack, StackSettings, running_stack
from styx_core.settings import Settings

BIN = Path(sys.executable).parent
PUPPET = Path(__file__).with_name("agent_puppet.py")
PATIENCE = 30.0
"""Seconds after which a condition that never held fails its test."""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass
class Living:
    """The stack, its place, and its folder."""

    stack: Stack
    place: Place
    data: Path

    def ask(self, method: str, path: str, body: object = None, **query: Any) -> Awaitable[Any]:
        """One call as the owner."""
        client = self.place.approver.client
        return asyncio.to_thread(client.call, method, path, body, **query)

    async def grants(self, *states: str) -> list[dict[str, Any]]:
        """Grants, newest first."""
        found: list[dict[str, Any]] = await self.ask("GET", "/v1/grants")
        return [each for each in found if not states or each["state"] in states]

    async def pending(self) -> dict[str, Any]:
        """The one request that waits, once there is one."""
        return (await until(lambda: self.grants("pending")))[0]

    async def approve(self, grant: dict[str, Any]) -> None:
        """Sign a request, as `styx approve` does."""
        await asyncio.to_thread(decide, self.place.approver, grant, "approve")

    def styx(self, *words: str, owner: bool = False) -> Awaitable[Done]:
        """`styx …` as the person at this machine types it."""
        return styx(self.data, *words, owner=self.place.secret if owner else "")


async def until(holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """What `holds` answers (or what its awaitable does) once that is true."""
    async with asyncio.timeout(seconds):
        while True:
            found = holds()
            found = await found if isinstance(found, Awaitable) else found
            if found:
                return found
            await asyncio.sleep(0.02)


@asynccontextmanager
async def living(data: Path, **settings: Any) -> AsyncIterator[Living]:
    """A furnished stack on `data`; `settings` are `Settings`' own."""
    base = Settings(log_level="ERROR", **settings)
    async with (
        running_stack(StackSettings(data, base=base)) as stack,
        furnished(stack, data, lambda _text: None) as place,
    ):
        yield Living(stack, place, data)


def surroundings(data: Path, **more: str) -> dict[str, str]:
    """A person's environment, with Styx's commands and the real tools on PATH."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STYX_")}
    path = f"{BIN}:{os.environ['PATH']}"
    return {**kept, "PATH": path, "STYX_DATA": str(data), **more}


async def styx(data: Path, *words: str, owner: str = "", **env: str) -> Done:
    """Run the `styx` command to its end."""
    if owner:
        env["STYX_ADMIN_TOKEN"] = owner
    return await finished(sys.executable, "-m", "styx_cli", *words, env=surroundings(data, **env))


async def finished(*words: str, env: dict[str, str]) -> Done:
    """Run a program to its end."""
    made = await asyncio.create_subprocess_exec(
        *words,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(made.communicate(), PATIENCE)
    finally:
        if made.returncode is None:
            made.kill()
    return Done(made.returncode or 0, out.decode(), err.decode())


@dataclass
class Agent:
    """An agent under `styx run`."""

    process: asyncio.subprocess.Process
    environ: dict[str, str] = field(default_factory=dict, repr=False)
    _orders: dict[int, "asyncio.Future[Done]"] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """Its task's token."""
        return self.environ["STYX_TOKEN"]

    @property
    def task(self) -> str:
        """Its task's id."""
        return self.environ["STYX_SESSION_ID"]

    def run(self, *words: str, target: str = "", **env: str) -> "asyncio.Future[Done]":
        """Run a command as the agent; a future, so that a held call can be watched."""
        assert self.process.stdin is not None
        if target:
            env["STYX_TARGET"] = target
        done = asyncio.get_running_loop().create_future()
        number = len(self._orders) + 1
        self._orders[number] = done
        order = {"id": number, "words": words, "env": env}
        self.process.stdin.write(json.dumps(order).encode() + b"\n")
        return done

    async def listen(self) -> None:
        """Hear its answers until it ends."""
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            said = json.loads(line)
            self.environ = said["environ"]
            future = self._orders.get(said["id"])
            if future is not None and not future.done():
                future.set_result(Done(said["code"], said["out"], said["err"]))


@asynccontextmanager
async def an_agent(data: Path, **env: str) -> AsyncIterator[Agent]:
    """`styx run -- <puppet>`, from its start to its end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "styx_cli", "run", "--agent", "puppet", "--"),
        *(sys.executable, str(PUPPET)),
        env=surroundings(data, **env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=16 * 1024 * 1024,
    )
    agent = Agent(process)
    hearing = asyncio.create_task(agent.listen())
    try:
        await until(lambda: agent.environ or process.returncode is not None)
        assert agent.environ, f"styx run ended with {process.returncode}"
        yield agent
    finally:
        await ended(process)
        await hearing


async def ended(process: asyncio.subprocess.Process) -> int:
    """Close its stdin, which ends a puppet, and wait; one that stays is made to end."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        return await asyncio.wait_for(process.wait(), 30)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        return await process.wait()


async def mcp_call(agent: Agent, tool: str, **arguments: Any) -> dict[str, Any]:
    """One tool of the gateway, asked by the SDK's client with the task's token."""
    headers = {"Authorization": f"Bearer {agent.token}"}
    async with (
        create_mcp_http_client(headers=headers) as http,
        streamable_http_client(f"{agent.environ['STYX_URL']}/mcp", http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        answer = await session.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return dict(answer.structured_content or {})


def up(data: Path, *words: str, **env: str) -> Awaitable[Done]:
    """`styx up --detach` on a folder."""
    return styx(data, "up", "--detach", *words, **env)


@asynccontextmanager
async def detached(data: Path, **env: str) -> AsyncIterator[Living]:
    """A furnished stack that runs as a process of its own, until `styx down`."""
    said = await up(data, **env)
    assert said.code == 0, said.err
    link = next((w for w in said.out.split() if "/admin#" in w), None)
    local = read_stack(data)
    assert local is not None
    stack = Stack(local.url, Path(local.socket), None, link, {})  # type: ignore[arg-type]
    try:
        async with furnished(stack, data, lambda _text: None) as place:
            yield Living(stack, place, data)
    finally:
        await styx(data, "down")
