"""Callers over HTTP: each keeps a connection and waits for every answer, as little as can be."""

import asyncio
import json
from collections.abc import Callable
from statistics import quantiles
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit


class Caller:
    """One kept connection. `headers` goes with every call."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self._at, self._headers = urlsplit(url), headers

    async def open(self) -> "Caller":
        """Connect."""
        host, port = str(self._at.hostname), int(self._at.port or 0)
        self._reader, self._writer = await asyncio.open_connection(host, port)
        return self

    def close(self) -> None:
        """Leave."""
        self._writer.close()

    async def post(self, path: str, body: bytes, token: str = "") -> tuple[int, bytes]:
        """Status and body of one answer."""
        lines = [
            f"POST {path} HTTP/1.1",
            f"Host: {self._at.netloc}",
            f"Content-Length: {len(body)}",
        ]
        lines += [f"{name}: {value}" for name, value in self._headers.items()]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        self._writer.write("\r\n".join([*lines, "", ""]).encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        status = int(head.split(" ", 2)[1])
        length = next(
            int(line.partition(":")[2])
            for line in head.split("\r\n")
            if line.lower().startswith("content-length:")
        )
        return status, await self._reader.readexactly(length)


Times = tuple[float, float]
"""p50 and p99, in milliseconds."""


def percentiles(seconds: list[float]) -> Times:
    """Of these times."""
    cuts = quantiles(seconds, n=100, method="inclusive")
    return cuts[49] * 1000, cuts[98] * 1000


async def timed(
    callers: list[Caller], calls: int, call: Callable[[Caller], Any], warm_up: int = 20
) -> list[float]:
    """Seconds that each of `calls` took, shared out among the callers working side by side."""
    taken: list[float] = []
    left = iter(range(calls + warm_up))

    async def work(caller: Caller) -> None:
        for number in left:
            start = perf_counter()
            await call(caller)
            if number >= warm_up:
                taken.append(perf_counter() - start)

    await asyncio.gather(*map(work, callers))
    return taken


def exec_body(*argv: str) -> bytes:
    """The JSON form of a call of the stub's tool."""
    return json.dumps({"tool": "stub", "argv": argv}).encode()
