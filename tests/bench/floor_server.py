"""What can't be saved: the hops of a call with nothing behind them, in one process as the stack is.

HTTP (uvicorn as the stack has it) → NATS request → NATS request, bytes of the sizes of a real call.
`/hops` is that alone; `/sealed` also makes a key, seals and opens; `/recorded` also commits one row
to SQLite (flushed) and has the stream acknowledge one event, as an issue must before it answers.
"""

import asyncio
import json
import socket
import sqlite3
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nats
import uvicorn
import uvloop
from nats.aio.msg import Msg
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from styx_core.seal import OpeningKey, seal

SECRET = {"env": {"STUB_TOKEN": "FIXTURE-" + "x" * 700}}
CALL, REPLY = b"c" * 2400, b"r" * 3600
CONFIG = """\
listen: "127.0.0.1:{port}"
jetstream {{ store_dir: "{folder}/js", sync_interval: always }}
"""


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Record:
    """One row, flushed, in a thread of its own."""

    def __init__(self, folder: str) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._db = sqlite3.connect(
            f"{folder}/floor.db", check_same_thread=False, isolation_level=None
        )
        for pragma in ("journal_mode=WAL", "synchronous=FULL"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("CREATE TABLE row (body TEXT)")

    def _commit(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute("INSERT INTO row VALUES (?)", ("b" * 800,))
        self._db.execute("COMMIT")

    async def __call__(self) -> None:
        """Commit."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._commit)


class Hops:
    """Three connections, as three services have them."""

    def __init__(self, clients: list[Any], record: Record) -> None:
        self._edge, self._middle, self._end = clients
        self._stream = self._middle.jetstream()
        self._record = record
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Serve the two further hops."""
        await self._stream.add_stream(name="FLOOR", subjects=["floor.event"])
        await self._middle.subscribe("floor.middle", cb=self._spawned(self._pass_on))
        await self._end.subscribe("floor.end", cb=self._spawned(self._answer))

    def _spawned(self, work: Callable[[Msg], Awaitable[None]]) -> Callable[[Msg], Awaitable[None]]:
        async def take(msg: Msg) -> None:
            task = asyncio.ensure_future(work(msg))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return take

    async def _pass_on(self, msg: Msg) -> None:
        reply = await self._middle.request("floor.end", msg.data, 5)
        if msg.data[:8] == b"recorded":
            await self._record()
            await self._stream.publish("floor.event", b"e" * 800)
        await msg.respond(reply.data)

    async def _answer(self, msg: Msg) -> None:
        _, _, key = msg.data.partition(b"\n")
        await msg.respond(seal(SECRET, key.decode(), "info").encode() if key else REPLY)

    async def hops(self, request: Request) -> Response:
        """Nothing but the hops."""
        await request.body()
        reply = await self._edge.request("floor.middle", CALL, 5)
        return Response(reply.data[:900])

    async def opened(self, request: Request) -> Response:
        """With a box, and where asked with a record."""
        await request.body()
        key = OpeningKey.make()
        head = request.url.path[1:].encode().ljust(8)
        reply = await self._edge.request("floor.middle", head + b"\n" + key.public.encode(), 5)
        return Response(json.dumps(key.open(reply.data.decode(), "info")))


async def _until_open(port: int) -> None:
    while True:
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            return
        except OSError:
            await asyncio.sleep(0.02)


async def _main(binary: str, folder: str) -> None:
    port = _free_port()
    config = Path(folder, "floor.conf")
    config.write_text(CONFIG.format(port=port, folder=folder))
    log = asyncio.subprocess.DEVNULL
    server = await asyncio.create_subprocess_exec(binary, "-c", str(config), stderr=log)
    try:
        url = f"nats://127.0.0.1:{port}"
        await _until_open(port)
        clients = [await nats.connect(url) for _ in range(3)]
        hops = Hops(clients, Record(folder))
        await hops.start()
        await _serve(hops)
        for client in clients:
            await client.close()
    finally:
        server.terminate()
        await server.wait()


async def _serve(hops: Hops) -> None:
    routes = [
        Route("/hops", hops.hops, methods=["POST"]),
        Route("/sealed", hops.opened, methods=["POST"]),
        Route("/recorded", hops.opened, methods=["POST"]),
    ]
    config = uvicorn.Config(Starlette(routes=routes), log_config=None, http="h11", access_log=False)
    http = uvicorn.Server(config)
    bound = socket.create_server(("127.0.0.1", 0))  # uvloop turns Nagle off by itself
    serving = asyncio.create_task(http.serve(sockets=[bound]))
    print(f"http://127.0.0.1:{bound.getsockname()[1]}", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    http.should_exit = True
    await serving


if __name__ == "__main__":
    uvloop.run(_main(*sys.argv[1:]))
