"""What the shim adds to a call: its time less the tool's own, beside what can't be saved.

The floor is a bare interpreter plus one HTTP round trip to the very server that the shim talks to,
all of them taking turns in one run. The shim makes two round trips: the call, and its report.
"""

import os
import socket
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from urllib.parse import urlsplit

from styx_cli.shims import write_shims
from styx_cli.testing import EXEC_TYPE, TOKEN, FakeBroker
from table import Row, print_table

TURNS, WARM_UP = 60, 5
AIM = 1.5
REQUEST = (
    f"POST /v1/exec HTTP/1.0\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: {EXEC_TYPE}\r\n"
    "Content-Length: 9\r\n\r\nacme\0/\0\0x"
).encode()


def _process(argv: list[str], env: dict[str, str]) -> Callable[[], None]:
    def run() -> None:
        pid = os.posix_spawn(argv[0], argv, env)
        status = os.waitpid(pid, 0)[1]
        if status:
            raise RuntimeError(f"{argv[0]} ended with {status}")

    return run


def _round_trip(url: str) -> Callable[[], None]:
    at = urlsplit(url)

    def run() -> None:
        with socket.create_connection((str(at.hostname), int(at.port or 0))) as connection:
            connection.sendall(REQUEST)
            while connection.recv(65536):
                pass

    return run


def _medians(runs: dict[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Median milliseconds of each, taking turns so that a busy moment hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(turns + WARM_UP):
        for name, run in runs.items():
            start = perf_counter()
            run()
            if turn >= WARM_UP:
                taken[name].append((perf_counter() - start) * 1000)
    return {name: statistics.median(times) for name, times in taken.items()}


def measure(turns: int = TURNS) -> list[Row]:
    """One row: the shim's overhead on a call that Styx allows at once, in milliseconds (p50)."""
    with tempfile.TemporaryDirectory() as folder, FakeBroker() as broker:
        shims, real = Path(folder, "shims"), Path(folder, "real")
        write_shims(shims, {"true": "env"})
        real.mkdir()
        Path(real, "true").symlink_to("/bin/true")
        env = {"PATH": f"{shims}:{real}", "STYX_URL": broker.url, "STYX_TOKEN": TOKEN}
        p50 = _medians(
            {
                "tool": _process([f"{real}/true"], env),
                "shim": _process([f"{shims}/true", "x"], env),
                "bare": _process([sys.executable, "-I", "-S", "-c", "pass"], env),
                "http": _round_trip(broker.url),
            },
            turns,
        )
    ours, floor = p50["shim"] - p50["tool"], p50["bare"] + p50["http"]
    name, aim = "python3 -I -S -c pass + one HTTP round trip", f"<= {AIM} x floor"
    figure = "shim overhead, live grant, p50"
    return [Row(figure, ours, name, floor, "ms", aim, ours <= AIM * floor)]


if __name__ == "__main__":
    print_table(measure())
