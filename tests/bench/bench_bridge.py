"""What an agent waits for when its client starts the bridge: start to the answer of `initialize`,
with a channel.

The floor is a bare interpreter, both taking turns in one run against a played gateway that answers
at once. Memory is the largest resident set of the bridge's process.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from styx_cli.mcp_bridge_testing import TOKEN, Gateway, Handler, echo
from table import Row, print_table

TURNS, WARM_UP = 40, 3
AIM_MS, AIM_MB = 200.0, 25.0
BRIDGE = "import sys, styx_cli.mcp_bridge as b; sys.exit(b.main_fast(['mcp', '--channel']))"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}},
}


def _played(handler: Handler, message: dict[str, Any]) -> None:
    """Answers `initialize`, and the channel's look for where its inbox stands."""
    if message["method"] == "initialize":
        echo(handler, message)
    else:
        result = {"structuredContent": {"messages": [], "cursor": ""}}
        handler.plain({"jsonrpc": "2.0", "id": message["id"], "result": result})


def _started(code: str, env: dict[str, str], line: bytes) -> tuple[float, float]:
    """Milliseconds from the start of a process to its first line (or its end); its megabytes."""
    start = perf_counter()
    with subprocess.Popen(
        [sys.executable, "-I", "-c", code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line)
        process.stdin.flush()
        first = process.stdout.readline()
        taken = (perf_counter() - start) * 1000
        memory = _largest(process.pid) if line else 0.0
        process.stdin.close()
    if line and b'"result"' not in first:
        raise RuntimeError("the bridge did not answer")
    return taken, memory


def _largest(pid: int) -> float:
    """The largest resident set of a process, in MB (proc(5): VmHWM; `ru_maxrss` counts ours)."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def measure(turns: int = TURNS) -> list[Row]:
    """Two rows: milliseconds (p50) and megabytes."""
    line = json.dumps(INITIALIZE).encode() + b"\n"
    ours: list[float] = []
    bare: list[float] = []
    memory = 0.0
    with Gateway(_played).serving() as gateway:
        url = f"http://127.0.0.1:{gateway.server_port}"
        env = {"PATH": os.environ["PATH"], "STYX_URL": url, "STYX_TOKEN": TOKEN}
        for turn in range(turns + WARM_UP):
            (took, held), (floor, _) = _started(BRIDGE, env, line), _started("pass", env, b"")
            memory = max(memory, held)
            if turn >= WARM_UP:
                ours.append(took)
                bare.append(floor)
    p50, floor = statistics.median(ours), statistics.median(bare)
    name = "python3 -I -c pass"
    return [
        Row("bridge: start to initialize", p50, name, floor, "ms", "<= 200", p50 <= AIM_MS),
        Row("bridge: memory", memory, "-", None, "MB", "<= 25", memory <= AIM_MB),
    ]


if __name__ == "__main__":
    print_table(measure())
