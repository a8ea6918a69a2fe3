"""Stands before the AWS account: lets calls through, holds one at a moment, or answers for it.

It remembers each session that the account minted, by the name that Styx gave it (the lease's id).
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Self
from urllib.parse import parse_qs

Pass = Callable[[], Awaitable[bytes]]
Moment = Callable[[Pass], Awaitable[bytes]]


@dataclass(frozen=True)
class Session:
    """One session as the account minted it."""

    lease_id: str
    key: str


class Hold:
    """A call that stands still: `reached` when it does, until it is `let_go`."""

    def __init__(self, *, minted: bool) -> None:
        """`minted`: the account mints first, and its answer is held."""
        self._minted = minted
        self.reached, self.let_go = asyncio.Event(), asyncio.Event()

    async def __call__(self, go: Pass) -> bytes:
        answer = await go() if self._minted else b""
        self.reached.set()
        await self.let_go.wait()
        return answer or await go()


def failing(status: str, code: str) -> Moment:
    """An answer with an error of AWS's, in the account's place."""
    return _answering(status, f"<ErrorResponse><Error><Code>{code}</Code></Error></ErrorResponse>")


def _answering(status: str, text: str) -> Moment:
    async def answer(_go: Pass) -> bytes:
        return (
            f"HTTP/1.1 {status}\r\nContent-Type: text/xml\r\nConnection: close\r\n"
            f"Content-Length: {len(text)}\r\n\r\n{text}"
        ).encode()

    return answer


empty = _answering("200 OK", "<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>")
"""AWS's own form with nothing in it."""


async def silent(_go: Pass) -> bytes:
    """No answer within any patience of the client's."""
    await asyncio.sleep(30)
    return b""


class ProviderGate:
    """The gate; use it as an async context manager."""

    def __init__(self, endpoint: str) -> None:
        self._host, self._port = endpoint.removeprefix("http://").split(":")
        self.minted: list[Session] = []
        self.next: list[Moment] = []
        """What happens to the next calls that mint, first come first served."""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(length[1]) if length else 0)
            writer.write(await self._answer(head, body))
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # whoever asked is gone, or the test is over
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer(self, head: bytes, body: bytes) -> bytes:
        form = parse_qs(body.decode(errors="replace"))
        name = form.get("RoleSessionName", ["styx-verify"])[0]

        async def go() -> bytes:
            answer = await self._forward(head, body)
            if name != "styx-verify" and (key := re.search(rb"<AccessKeyId>(\w+)", answer)):
                self.minted.append(Session(name, key[1].decode()))
            return answer

        moment = self.next.pop(0) if name != "styx-verify" and self.next else None
        return await (moment(go) if moment else go())

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(self._host, int(self._port))
        once = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head)
        first, _, rest = once.partition(b"\r\n")
        writer.write(first + b"\r\nConnection: close\r\n" + rest + body)
        answer = await reader.read()
        writer.close()
        return answer
