"""One call through the running stack, beside the same hops with empty handlers in the same run.

Ours and the floor take turns in rounds, so that a busy moment hits both. The provider is a stub, so
no figure holds a cloud's own time.
"""

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from http_load import Caller, Times, exec_body, percentiles, timed
from stack_process import Furnished, floor_process, furnished
from styx_cli.deciding import decide
from table import Row, print_table

ROUNDS, CALLS, DECISIONS = 5, 200, 30
LIMIT = 1.5
JSON = {"Content-Type": "application/json"}
READ, DELETE = exec_body("list"), exec_body("rm", "x")
Call = Callable[[Caller], Awaitable[Any]]


async def _fine(caller: Caller, path: str, body: bytes, token: str = "") -> bytes:
    status, answer = await caller.post(path, body, token)
    if status != 200:
        raise RuntimeError(f"{path} answered {status}: {answer[:300]!r}")
    return answer


def _exec(token: str) -> Call:
    return lambda caller: _fine(caller, "/v1/exec", READ, token)


def _first_calls(tokens: Iterator[str]) -> Call:
    return lambda caller: _fine(caller, "/v1/exec", READ, next(tokens))


def _floor(path: str) -> Call:
    return lambda caller: _fine(caller, path, READ)


async def _side_by_side(
    ours: tuple[str, Call], floor: tuple[str, Call], callers: int, calls: int
) -> tuple[Times, Times]:
    """Times of both, in turns."""
    taken: tuple[list[float], list[float]] = [], []
    sides = [[await Caller(url, JSON).open() for _ in range(callers)] for url, _ in (ours, floor)]
    for _ in range(ROUNDS):
        for side, (_, call), times in zip(sides, (ours, floor), taken, strict=True):
            times += await timed(side, calls // ROUNDS, call)
    for side in sides:
        for each in side:
            each.close()
    return percentiles(taken[0]), percentiles(taken[1])


def _rows(figure: str, floor_name: str, times: tuple[Times, Times], judged: bool) -> list[Row]:
    rows = []
    for name, ours, floor in zip(("p50", "p99"), *times, strict=True):
        ok = ours <= LIMIT * floor if judged and name == "p50" else None
        aim = f"<= {LIMIT} x floor" if ok is not None else ""
        rows.append(Row(f"{figure}, {name}", ours, floor_name, floor, "ms", aim, ok))
    return rows


async def _live(stack: Furnished, floor: str, scale: float) -> list[Row]:
    token = stack.task()
    ours = stack.process.url, _exec(token)
    rows: list[Row] = []
    for callers in (1, 16):
        calls = int(CALLS * scale) * (1 if callers == 1 else 4)
        for path, name in (("/hops", "same hops, empty"), ("/sealed", "same hops + seal, open")):
            times = await _side_by_side(ours, (floor, _floor(path)), callers, calls)
            plural = "caller" if callers == 1 else "callers"
            figure = f"exec on a live grant, {callers} {plural}"
            rows += _rows(figure, name, times, path == "/hops")
    return rows


async def _issued(stack: Furnished, floor: str, scale: float) -> list[Row]:
    """Each call is a new task's first, so it is decided and issued."""
    rows: list[Row] = []
    for path, name in (
        ("/sealed", "same hops + seal, open"),
        ("/recorded", "same + commit + stream's ack"),
    ):
        calls = int(CALLS * scale / 2)
        tokens = iter([await asyncio.to_thread(stack.task) for _ in range(calls + 20 * ROUNDS)])
        ours = stack.process.url, _first_calls(tokens)
        times = await _side_by_side(ours, (floor, _floor(path)), 1, calls)
        rows += _rows("decided by policy and issued", name, times, path == "/sealed")
    return rows


async def _approved(stack: Furnished, scale: float) -> list[Row]:
    """From the approval's sending to the waiting caller's answer."""
    client = stack.approver.client
    caller = await Caller(stack.process.url, JSON).open()
    taken: list[float] = []
    trips: list[float] = []
    for _ in range(int(DECISIONS * scale)):
        token = await asyncio.to_thread(stack.task)
        waiting = asyncio.create_task(_fine(caller, "/v1/exec", DELETE, token))
        while not (open_ := await asyncio.to_thread(_pending, client)):
            await asyncio.sleep(0.01)
        start = perf_counter()
        deciding = asyncio.create_task(
            asyncio.to_thread(decide, stack.approver, open_[0], "approve")
        )
        answer = json.loads(await waiting)
        taken.append(perf_counter() - start)
        await deciding
        if answer["status"] != "active":
            raise RuntimeError(f"not active: {answer}")
        start = perf_counter()
        await asyncio.to_thread(_pending, client)
        trips.append(perf_counter() - start)
    caller.close()
    ours, floor = percentiles(taken)[0], percentiles(trips)[0]
    name = "one HTTP and bus round trip"
    return [
        Row("approve to the caller's answer, p50", ours, name, floor, "ms", "<= 25", ours <= 25)
    ]


def _pending(client: Any) -> Any:
    return client.call("GET", "/v1/grants", state="pending")


async def _measure(folder: Path, scale: float) -> list[Row]:
    with furnished(folder) as stack, floor_process() as floor:
        rows = await _live(stack, floor, scale)
        rows += await _issued(stack, floor, scale)
        return rows + await _approved(stack, scale)


def measure(scale: float = 1.0) -> list[Row]:
    """The rows of a call's way."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), scale))


if __name__ == "__main__":
    print_table(measure())
