"""The approvals page with a thousand requests waiting, beside a page that shows nothing."""

import asyncio
import tempfile
from pathlib import Path
from time import perf_counter
from urllib.request import Request, urlopen

from http_load import Caller, exec_body, percentiles, timed
from stack_process import Furnished, furnished
from table import Row, print_table

WAITING, LOOKS, CALLERS = 1000, 12, 8
LONGEST = 1000.0
"""Milliseconds in which the page must come."""


async def _ask(stack: Furnished) -> None:
    """A thousand requests, each of its own command."""
    token = stack.task()
    numbers = iter(range(WAITING))

    async def call(caller: Caller) -> None:
        status, answer = await caller.post("/v1/exec", exec_body("rm", str(next(numbers))), token)
        if status not in (200, 202):
            raise RuntimeError(f"/v1/exec answered {status}: {answer[:200]!r}")

    json = {"Content-Type": "application/json"}
    callers = [await Caller(stack.process.url, json).open() for _ in range(CALLERS)]
    await timed(callers, WAITING, call, warm_up=0)
    for each in callers:
        each.close()


def _looks(stack: Furnished, path: str) -> float:
    """The page's p50, in milliseconds."""
    url = stack.process.url.replace("127.0.0.1", "localhost") + path
    known = {"Authorization": f"Bearer {stack.bearer}"}
    times = []
    for _ in range(LOOKS):
        start = perf_counter()
        with urlopen(Request(url, headers=known), timeout=30) as reply:
            text = reply.read().decode()
        times.append(perf_counter() - start)
    if path == "/" and f"{WAITING}" not in text.split("requests wait")[0][-200:]:
        raise RuntimeError("the page doesn't show them all")
    return percentiles(times)[0]


def measure() -> list[Row]:
    """The rows of the pages."""
    with (
        tempfile.TemporaryDirectory() as folder,
        furnished(Path(folder), STYX_WAIT_SECONDS="0") as stack,
    ):
        asyncio.run(_ask(stack))
        ours, floor = _looks(stack, "/"), _looks(stack, "/signin")
    figure = f"approvals page, {WAITING:,} waiting, p50"
    return [Row(figure, ours, "the sign-in page", floor, "ms", "<= 1,000", ours <= LONGEST)]


if __name__ == "__main__":
    print_table(measure())
