"""The task's SSH keyring: keys that live in this process's memory, one for each call.

A shim connects to the control socket and says lines:
`new` → `SOCKET ssh-ed25519 BASE64` makes a key and an ssh-agent socket that offers nothing yet;
`cert SOCKET CERTIFICATE` → `ok` arms it;
`lend SOCKET EXEC PUBLIC-KEY` → `ok` arms it with a key that lies in Styx and signs there.
An answer that begins with `error` says why not. A key goes when the connection that made it closes,
when its certificate ends, or with the task.
No key is ever in a file; both kinds of socket are 0600 in a 0700 folder, and on Linux the peer's
user is checked as well.
"""

import asyncio
import contextlib
import os
import secrets
import socket
import struct
import threading
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path

from styx_cli.ssh_agent_wire import LONGEST_MESSAGE, Identity, answer, string
from styx_cli.ssh_key import Key, public_blob

Now = Callable[[], datetime]
Sign = Callable[[bytes], bytes]
Signer = Callable[[str], Sign]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[object, object, None]]
LONGEST_LINE = 64 * 1024


class Door:
    """A unix socket (0600) with a handler, which leaves nothing behind when it closes.

    The socket listens from the start; `open` begins to answer on the running loop.
    """

    def __init__(self, path: Path, handler: Handler) -> None:
        self.path, self._handler = path, handler
        self._writers: set[asyncio.StreamWriter] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen()
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Answer from now on."""
        self._server = await asyncio.start_unix_server(
            self._greet, sock=self._socket, limit=LONGEST_LINE
        )

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if _same_user(writer):
                await self._handler(reader, writer)
        except (OSError, EOFError, ValueError):
            return  # gone in the middle of a message, or a message that is no message
        finally:
            self._writers.discard(writer)
            writer.close()

    def close(self) -> None:
        """Hang up on everyone and remove the path. May be called again."""
        if self._server:
            self._server.close()
        self._socket.close()
        for writer in self._writers:
            writer.transport.abort()
        self.path.unlink(missing_ok=True)


def _same_user(writer: asyncio.StreamWriter) -> bool:
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # the folder's mode is the guard there
    shape = struct.Struct("3i")  # pid, uid, gid: unix(7)
    peer = writer.get_extra_info("socket")
    raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, shape.size)
    return bool(shape.unpack(raw)[1] == os.getuid())


class Agent:
    """One key behind an ssh-agent socket of its own."""

    def __init__(self, path: Path, now: Now) -> None:
        self.key, self._now = Key(), now
        self._lent: Identity | None = None
        self.door = Door(path, self._talk)
        self._end: asyncio.TimerHandle | None = None

    def arm(self, certificate: str) -> None:
        """Take the certificate, and go when it ends. Raises `ValueError` saying what is wrong."""
        ends = self.key.certify(certificate, self._now())
        if self._end:
            self._end.cancel()
        left = ends - self._now().timestamp()
        self._end = asyncio.get_running_loop().call_later(left, self.close)

    def lend(self, public: str, sign: Sign) -> None:
        """Offer a key that signs elsewhere in the place of our own. Raises `ValueError`."""
        self._lent = Identity(public_blob(public), sign)

    def close(self) -> None:
        """Forget the key and its socket. May be called again."""
        self.key.forget()
        self._lent = None
        if self._end:
            self._end.cancel()
        self.door.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack(">I", await reader.readexactly(4))
            if size > LONGEST_MESSAGE:
                return
            request = await reader.readexactly(size)
            identity = self._lent or self.key.identity(self._now())
            # In a thread: a lent key signs by a call over the network.
            writer.write(string(await asyncio.to_thread(answer, request, identity)))
            await writer.drain()


class Keyring:
    """The control socket, and the agents that were made over it."""

    def __init__(
        self,
        folder: Path,
        now: Now = lambda: datetime.now(UTC),
        signer: Signer | None = None,
    ) -> None:
        """`signer` makes what signs for a call with a key that lies in Styx; none lends none."""
        self._folder, self._now, self._signer = folder, now, signer
        self._door = Door(folder / "keyring", self._control)
        self.path = self._door.path

    async def serve(self, stop: asyncio.Event) -> None:
        """Answer until `stop` is set; then every key is gone."""
        await self._door.open()
        try:
            await stop.wait()
        finally:
            self._door.close()

    @contextlib.contextmanager
    def in_background(self) -> Iterator[None]:
        """Serve in a thread of its own for as long as the block runs."""
        runner, stop = asyncio.Runner(), asyncio.Event()
        loop = runner.get_loop()

        def main() -> None:
            with runner:  # its end cancels what still talks, so that every key and path goes
                runner.run(self.serve(stop))

        thread = threading.Thread(target=main, name="keyring")
        thread.start()
        try:
            yield
        finally:
            loop.call_soon_threadsafe(stop.set)
            thread.join()

    async def _control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        agents: dict[str, Agent] = {}
        try:
            while line := await reader.readline():
                reply = await self._obey(line.decode(errors="replace").rstrip("\n"), agents)
                writer.write(reply.encode() + b"\n")
                await writer.drain()
        finally:
            for agent in agents.values():
                agent.close()

    async def _obey(self, line: str, agents: dict[str, Agent]) -> str:
        word, _, rest = line.partition(" ")
        if line == "new":
            agent = Agent(self._folder / f"agent-{secrets.token_hex(8)}", self._now)
            agents[str(agent.door.path)] = agent
            await agent.door.open()
            return f"{agent.door.path} {agent.key.public}"
        path, _, given = rest.partition(" ")
        if word not in ("cert", "lend") or path not in agents:
            return "error: say `new`, or `cert` or `lend` with a socket made here"
        try:
            if word == "cert":
                agents[path].arm(given)
            else:
                self._lend(agents[path], *given.split(" ", 1))
        except (ValueError, TypeError) as wrong:
            return f"error: {wrong}"
        return "ok"

    def _lend(self, agent: Agent, exec_id: str, public: str) -> None:
        if self._signer is None:
            raise ValueError("this keyring lends no keys")
        agent.lend(public, self._signer(exec_id))
