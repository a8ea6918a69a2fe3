"""`styx up` and `styx down` on a data folder: what is kept, which ports, what is refused."""

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from stack_fixture import Agent, Done, Living, an_agent, detached, styx, until, up
from styx_cli.client import Address, Client
from styx_cli.commands.audit import check
from styx_cli.local import read_stack

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

KEYS: dict[str, str] = {}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with detached(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(here: Living) -> AsyncIterator[Agent]:
    async with an_agent(here.data) as one:
        assert (await one.run("aws", "s3", "ls", target="staging")).code == 0
        yield one


def fresh(here: Living) -> Client:
    """A client without connections of an earlier run."""
    return Client(Address(here.stack.url, str(here.stack.socket)))


async def kept(here: Living) -> dict[str, Any]:
    """What must outlive a restart."""
    client = fresh(here)
    paths = ("/v1/grants", "/v1/targets", "/v1/projects", "/v1/tasks")
    found = {path: await asyncio.to_thread(client.call, "GET", path) for path in paths}
    client.close()
    return found


async def entries(here: Living) -> list[dict[str, Any]]:
    """The log as its export holds it, once it verifies with the key of its first day."""
    client = fresh(here)
    lines = await asyncio.to_thread(lambda: list(client.lines("/audit/export")))
    key = KEYS.setdefault(here.stack.url, client.call("GET", "/audit/checkpoint")["key"])
    client.close()
    verdict = await asyncio.to_thread(check, lines, key)
    assert verdict.ok, verdict.fault
    found = [json.loads(line) for line in lines]
    return [line["entry"] for line in found if "entry" in line]


async def test_a_restart_keeps_grants_targets_log_and_address(here: Living, agent: Agent) -> None:
    before, log = await kept(here), await entries(here)
    assert (await here.styx("down")).code == 0
    assert read_stack(here.data) is None
    assert (await agent.run("aws", "s3", "ls", target="staging")).code == 69, "nothing runs now"
    said = await up(here.data)
    assert said.code == 0, said.err
    assert here.stack.url in said.out
    assert "/admin#" not in said.out, "it has an owner"
    assert await kept(here) == before
    assert (await entries(here))[: len(log)] == log
    assert (await agent.run("aws", "s3", "ls", target="staging")).code == 0, "the task goes on"


async def test_a_second_start_on_the_same_folder_is_refused(here: Living) -> None:
    again = await up(here.data)
    assert again.code == 64
    assert f"runs here already, at {here.stack.url}" in again.err


async def test_a_killed_stack_has_lost_nothing_that_it_acknowledged(
    here: Living, agent: Agent
) -> None:
    """Tasks are made until the kill; each one that was answered is in the log afterwards."""
    stop, answered = asyncio.Event(), set[str]()

    async def load() -> None:
        async with httpx.AsyncClient(
            base_url="http://styx", transport=httpx.AsyncHTTPTransport(uds=str(here.stack.socket))
        ) as http:
            while not stop.is_set():
                with contextlib.suppress(httpx.HTTPError):
                    made = await http.post("/v1/tasks", json={"agent": "load"}, timeout=10)
                    if made.status_code == 201:
                        answered.add(made.json()["id"])
                        continue
                return

    before = await entries(here)
    local = read_stack(here.data)
    assert local is not None
    callers = [asyncio.create_task(load()) for _ in range(4)]
    await until(lambda: len(answered) > 40)
    os.kill(local.pid, signal.SIGKILL)
    await until(lambda: read_stack(here.data) is None)
    stop.set()
    await asyncio.gather(*callers)

    said = await up(here.data)
    assert said.code == 0, said.err
    assert here.stack.url in said.out

    async def recorded() -> bool:
        log = await entries(here)
        started = {e["task_id"] for e in log if e["kind"] == "broker.task_started"}
        return answered <= started and log[: len(before)] == before

    await until(recorded)
    assert (await agent.run("aws", "s3", "ls", target="staging")).code == 0


async def test_named_ports_are_used_and_taken_ones_refused(here: Living, tmp_path: Path) -> None:
    """A second stack, side by side with the first."""
    names = ("http", "nats", "vault")
    ports = dict(zip(names, free_ports(3), strict=True))
    env = {f"STYX_{name.upper()}_PORT": str(port) for name, port in ports.items()}
    data = tmp_path / "data"
    try:
        said = await up(data, **env)
        assert said.code == 0, said.err
        assert f"http://127.0.0.1:{ports['http']} " in said.out
        assert {listening(port) for port in ports.values()} == {True}
        assert (await styx(data, "status")).code == 0
        assert (await here.styx("status")).code == 0
        taken = await up(tmp_path / "other", "--nats-port", str(ports["nats"]))
        assert taken.code == 69
        assert f"port {ports['nats']} for nats is in use" in taken.err
    finally:
        await styx(data, "down")


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        found = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in found]


def listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


async def test_a_foreign_memory_of_ports_costs_new_ports_only(here: Living, tmp_path: Path) -> None:
    """What is no port, and what others listen on, is passed over."""
    taken = int(here.stack.url.rpartition(":")[2])
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "ports.json").write_text(json.dumps({"http": taken, "nats": "x", "bao": -1}))
    try:
        said = await up(data)
        assert said.code == 0, said.err
        assert here.stack.url not in said.out
        ports = json.loads((data / "ports.json").read_text())
        assert len(set(ports.values())) == 5
        assert taken not in ports.values()
    finally:
        await styx(data, "down")


async def refused(data: Path) -> str:
    """What `styx up` says in the foreground when it won't start."""
    said: Done = await styx(data, "up")
    assert said.code == 69, said
    assert "Traceback" not in said.err
    return said.err


@pytest.mark.parametrize(
    ("mode", "text", "says"),
    [
        (0o644, "ab" * 32, "can be read by others (mode 0644): chmod 600"),
        (0o600, "FIXTURE-not-a-key", "doesn't hold 32 bytes in hex"),
        (0o600, "", "doesn't hold 32 bytes in hex"),
    ],
)
async def test_a_key_file_that_cant_be_trusted_is_refused(
    tmp_path: Path, mode: int, text: str, says: str
) -> None:
    key = tmp_path / "styx.key"
    key.write_text(text)
    key.chmod(mode)
    said = await refused(tmp_path)
    assert str(key) in said
    assert says in said
    assert "FIXTURE" not in said
