"""`styx up` to ready, and the memory of all that runs then.

The floor is what any stack on these parts pays: nats-server and OpenBao, started and ready, and one
interpreter that imports the same packages. Each start has a fresh folder, as a first one has.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter

from stack_process import stack_process
from table import Row, print_table

STARTS, LIMIT = 3, 1.3
PACKAGES = """
import asyncio, importlib, pathlib, sys
for name in ("fastapi", "starlette", "uvicorn", "uvloop", "nats", "hvac", "sqlalchemy", "sqlmodel",
             "pydantic", "pydantic_settings", "cryptography.hazmat.primitives.hpke", "structlog",
             "mcp.server.lowlevel", "mcp.server.streamable_http_manager", "prometheus_client",
             "opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http.trace_exporter"):
    importlib.import_module(name)
"""
IMPORTS = PACKAGES + "print(flush=True); sys.stdin.read()"
ENGINES = """
import asyncio, pathlib, sys
from styx_cli.engines.run import running_engines
async def main():
    async with running_engines(pathlib.Path(sys.argv[1])):
        print(flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in Path(thread, "children").read_text().split():
            yield from _tree(int(child))


def _megabytes(pids: Iterator[int]) -> float:
    """The proportional set size (PSS) of these processes: what is shared counts once."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


@contextmanager
def _python(code: str, *words: str) -> Iterator[int]:
    """A process that has said a line; its pid."""
    child = subprocess.Popen(
        [sys.executable, "-c", code, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        child.stdout.readline()
        yield child.pid
    finally:
        child.communicate(timeout=30)


def _stack(folder: Path) -> tuple[float, float]:
    start = perf_counter()
    with stack_process(folder) as process:
        return perf_counter() - start, _megabytes(_tree(process.child.pid))


def _floor(folder: Path) -> tuple[float, float]:
    """Both engines ready, then the imports: they share two processors as the stack's do."""
    start = perf_counter()
    with _python(ENGINES, str(folder)) as engines, _python(IMPORTS) as imports:
        taken = perf_counter() - start
        children = [pid for pid in _tree(engines) if pid != engines]
        return taken, _megabytes(iter([*children, imports]))


def measure(starts: int = STARTS) -> list[Row]:
    """Seconds to ready, and megabytes then."""
    ours: list[tuple[float, float]] = []
    floors: list[tuple[float, float]] = []
    for _ in range(starts):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(_stack(Path(folder, "stack")))
            floors.append(_floor(Path(folder, "engines")))
    seconds, floor = median(s for s, _ in ours), median(s for s, _ in floors)
    memory, least = median(m for _, m in ours), median(m for _, m in floors)
    name, aim = "nats + bao + one bare import", f"<= {LIMIT} x floor"
    return [
        Row("styx up to ready", seconds, name, floor, "s", aim, seconds <= LIMIT * floor),
        Row("memory of the whole stack (PSS)", memory, name, least, "MB"),
    ]


if __name__ == "__main__":
    assert os.path.isdir("/proc"), "memory is read from /proc"
    print_table(measure())
