"""nats-server is killed under load and comes back: nothing that was acknowledged is lost."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from stack_fixture import until
from styx_cli.client import Address, Client
from styx_cli.commands.audit import check
from styx_cli.stack import ORDER, Stack, StackSettings, running_stack
from styx_core.settings import Settings

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

KILLS = 3
AT_ONCE = 4


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    settings = StackSettings(data, base=Settings(log_level="CRITICAL"))
    async with running_stack(settings) as running:
        yield running


def local(stack: Stack) -> httpx.AsyncClient:
    """As this machine's owner."""
    through = httpx.AsyncHTTPTransport(uds=str(stack.socket))
    return httpx.AsyncClient(base_url=stack.url, transport=through, timeout=30)


async def work(http: httpx.AsyncClient, done: set[str], told: list[dict[str, Any]]) -> None:
    """Start tasks for ever; keep what was acknowledged, and every refusal."""
    while True:
        answer = await http.post("/v1/tasks", json={"agent": "load"})
        if answer.status_code == 201:
            done.add(answer.json()["id"])
        else:
            told.append(answer.json())


async def test_no_acknowledged_event_is_lost_and_everybody_comes_back(stack: Stack) -> None:
    done, told = set[str](), list[dict[str, Any]]()
    async with local(stack) as http:
        assert (await http.post("/v1/projects", json={"name": "shop"})).status_code == 201
        workers = [asyncio.create_task(work(http, done, told)) for _ in range(AT_ONCE)]
        for kill in range(1, KILLS + 1):
            enough = len(done) + 25
            await until(lambda most=enough: len(done) > most)
            os.kill(stack.engines.nats.pid, signal.SIGKILL)
            await until(lambda times=kill: stack.engines.nats.restarts >= times)
        enough = len(done) + 25
        await until(lambda most=enough: len(done) > most)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for name in ORDER:
            ready = (await http.get(f"/services/{name}/readyz")).json()
            assert ready["ok"], ready
    assert all(each["retryable"] for each in told), "a refusal in between may be tried again"
    log = await until(lambda: recorded(stack, done))
    started = [entry["task_id"] for entry in log if entry["kind"] == "broker.task_started"]
    assert len(started) == len(set(started)), "and none is there twice"


async def recorded(stack: Stack, done: set[str]) -> list[dict[str, Any]]:
    """The log, once it verifies and holds both events of every acknowledged task."""
    client = Client(Address(stack.url, str(stack.socket)))
    lines = await asyncio.to_thread(lambda: list(client.lines("/audit/export")))
    key = (await asyncio.to_thread(client.call, "GET", "/audit/checkpoint"))["key"]
    client.close()
    verdict = await asyncio.to_thread(check, lines, key)
    assert verdict.ok, verdict.fault
    log = [line["entry"] for line in map(json.loads, lines) if "entry" in line]
    kinds = ("broker.task_started", "grants.task_admitted")
    found = [{e["task_id"] for e in log if e["kind"] == kind} for kind in kinds]
    return log if all(done <= each for each in found) else []
