"""The gateway beside the SDK's bare server and FastMCP's, each a process of its own, in one run.

A core's worth is calls by the CPU seconds that the server's process spent on them; ours asks two
services over NATS for each call. Held calls: thousands at once, then all decided at once.
"""

import asyncio
import json
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.request import Request, urlopen

from gateway_process import Measured, Played, floor_server, gateway
from http_load import Caller, Times, percentiles, timed
from table import Row, print_table

ROUNDS, CALLS, HELD, OPENED, IDLE_SECONDS = 5, 300, 5000, 20, 20.0
SHARE, MORE, WITHIN = 0.8, 1.3, 1000.0
FASTMCP = "fastmcp==4.2.3"
VENV = Path(__file__).parents[2] / ".venv"
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}
ASK = {"target": "shop", "scopes": ["read"], "reason": "to measure"}
GRANT = re.compile(rb"grt_[0-9a-z]{26}")
ACTIVE = b'"active"'


def _body(tool: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": {"progressToken": 1}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(call).encode()


def _fastmcp() -> str | None:
    """A Python with FastMCP's server; made once, apart, since it brings 60 packages."""
    python = VENV / "fastmcp" / "bin" / "python"
    uv = shutil.which("uv", path=f"{VENV}/bin")
    if not python.exists() and uv is not None:
        subprocess.run([uv, "venv", "-q", str(VENV / "fastmcp"), "-p", sys.executable], check=True)
        install = [uv, "pip", "install", "-q", "-p", str(python), FASTMCP, "uvloop"]
        if subprocess.run(install, capture_output=True).returncode:
            shutil.rmtree(VENV / "fastmcp")
    return str(python) if python.exists() else None


async def _calls(server: Measured, tokens: Iterator[str]) -> tuple[list[float], float]:
    """Seconds of each of some calls, one after the other, and the CPU that they cost."""
    caller = await Caller(server.url, HEADERS).open()
    body = _body("list_targets", {})

    async def call(one: Caller) -> None:
        status, answer = await one.post("/mcp", body, next(tokens))
        if status != 200 or b'"targets"' not in answer:
            raise RuntimeError(f"/mcp answered {status}: {answer[:200]!r}")

    await timed([caller], 20, call)
    before = server.cpu()
    taken = await timed([caller], CALLS, call, warm_up=0)
    spent = server.cpu() - before
    caller.close()
    return taken, spent


async def _throughput(servers: dict[str, Measured]) -> dict[str, tuple[Times, float]]:
    """Of each server, in turns: p50 and p99, and calls a second of a core."""
    # a token serves 100 calls: no task may list its targets more often in a minute
    tokens = (f"FIXTURE-{number // 100}" for number in count())
    taken: dict[str, list[float]] = {name: [] for name in servers}
    spent = dict.fromkeys(servers, 0.0)
    for _ in range(ROUNDS):
        for name, server in servers.items():
            times, cpu = await _calls(server, tokens)
            taken[name] += times
            spent[name] += cpu
    done = ROUNDS * CALLS
    return {name: (percentiles(taken[name]), done / spent[name]) for name in servers}


@dataclass
class Held:
    """Of thousands of held calls: KB and CPU milliseconds a second of each; then their answers."""

    memory: float
    busy: float
    start: float
    answers: list[tuple[float, str]]

    def all_answered(self) -> float:
        """Milliseconds from the first decision to the last answer."""
        return (max(at for at, _ in self.answers) - self.start) * 1000


async def _hold(server: Measured, number: int) -> tuple[asyncio.StreamReader, Any]:
    """One held call, as far as its head."""
    host, port = server.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = _body("request_access", ASK)
    lines = [f"POST /mcp HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in HEADERS.items()]
    lines += [f"Authorization: Bearer FIXTURE-held-{number}", "", ""]
    writer.write("\r\n".join(lines).encode() + body)
    head = await reader.readuntil(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n")[0]:
        raise RuntimeError(head.decode())
    return reader, writer


async def _answered(reader: asyncio.StreamReader, right: bytes) -> tuple[float, str]:
    """When the answer came, and of which grant."""
    while True:
        line = await reader.readline()
        if not line:
            raise RuntimeError("a held call ended without its answer")
        if b'"result"' in line:
            if right not in line.replace(b"\\", b""):
                raise RuntimeError(line.decode()[:300])
            named = GRANT.search(line)
            return perf_counter(), named[0].decode() if named else ""


async def _held(server: Measured, decide: Any, right: bytes) -> Held:
    """Hold thousands, and decide them all."""
    empty = server.memory()
    calls = []
    for first in range(0, HELD, OPENED):
        some = range(first, first + OPENED)
        calls += await asyncio.gather(*(_hold(server, number) for number in some))
    memory = (server.memory() - empty) / HELD
    before = server.cpu()
    await asyncio.sleep(IDLE_SECONDS)
    busy = (server.cpu() - before) / IDLE_SECONDS / HELD * 1000
    waits = [asyncio.create_task(_answered(reader, right)) for reader, _ in calls]
    start = perf_counter()
    await decide()
    answers = await asyncio.gather(*waits)
    for _, writer in calls:
        writer.close()
    return Held(memory, busy, start, answers)


async def _floor_decides(server: Measured) -> None:
    await asyncio.to_thread(urlopen, Request(f"{server.url}/decide", method="POST"))


async def _measure() -> list[Row]:
    python = _fastmcp()
    async with gateway() as (ours, played):
        with floor_server("mcp_floor.py") as bare:
            servers = {"ours": ours, "bare": bare}
            if python is None:
                found, fast = await _throughput(servers), None
            else:
                with floor_server("fastmcp_floor.py", python) as other:
                    found = await _throughput({**servers, "fast": other})
                fast = found["fast"]
            rows = _throughput_rows(found["ours"], found["bare"], fast)
            mine = await _held(ours, played.decide, ACTIVE)
            floor = await _held(bare, lambda: _floor_decides(bare), b"targets")
            return rows + _held_rows(mine, floor, played)


def _throughput_rows(
    ours: tuple[Times, float], bare: tuple[Times, float], fast: tuple[Times, float] | None
) -> list[Row]:
    name, other = "the SDK's bare server", "FastMCP's"
    rate, floor = ours[1], bare[1]
    slower = None if fast is None else fast[1]
    ahead = None if slower is None else rate > slower
    figure = "list_targets, calls/s a core"
    return [
        Row(figure, rate, name, floor, "1/s", ">= 0.8x", rate >= SHARE * floor),
        Row(figure, rate, other if fast else "FastMCP: not here", slower, "1/s", "ahead", ahead),
        *(
            Row(f"list_targets, {which}", ours[0][place], name, bare[0][place], "ms")
            for place, which in enumerate(("p50", "p99"))
        ),
    ]


def _held_rows(ours: Held, bare: Held, played: Played) -> list[Row]:
    name, last, cpu = "the SDK's bare server", ours.all_answered(), (ours.busy, bare.busy)
    p50, p99 = percentiles([at - played.told[grant] for at, grant in ours.answers])
    return [
        Row(f"{HELD:,} held, memory of one", ours.memory, name, bare.memory, "KB", "<= 1.3x",
            ours.memory <= MORE * bare.memory),
        Row(f"{HELD:,} held, CPU of one", cpu[0] * 1000, name, cpu[1] * 1000, "us/s", "<= 1.3x",
            cpu[0] <= MORE * cpu[1]),
        Row(f"{HELD:,} held, all answered", last, name, bare.all_answered(), "ms"),
        Row("decision to answer of a held one, p50", p50, "-", None, "ms"),
        Row("decision to answer of a held one, p99", p99, "-", None, "ms", "<= 1,000",
            p99 <= WITHIN),
    ]  # fmt: skip


def measure() -> list[Row]:
    """The rows of the gateway."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return asyncio.run(_measure())


if __name__ == "__main__":
    print_table(measure())
