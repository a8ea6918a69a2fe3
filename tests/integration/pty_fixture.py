"""A program in a terminal that is wide enough for its lines."""

import asyncio
import fcntl
import os
import pty
import re
import struct
import termios
from collections.abc import Awaitable, Callable, Mapping

SECONDS = 60
"""How long one run may take."""
SIZE = struct.pack("HHHH", 50, 2000, 0, 0)
_MOVES = re.compile(r"\x1b\[[0-9]+G")
_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[^\[\]])")

Hear = Callable[[str], Awaitable[None]]


async def in_terminal(*words: str, env: Mapping[str, str], hear: Hear) -> tuple[int, str]:
    """Its exit code and what it said; `hear` is told all that was said, each time there is more."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, SIZE)
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    process = await asyncio.create_subprocess_exec(
        *words, env=env, cwd=env["HOME"], start_new_session=True, **streams
    )
    os.close(theirs)
    said = ""
    try:
        async with asyncio.timeout(SECONDS):
            while part := await asyncio.to_thread(_read, ours):
                said += part.decode(errors="replace")
                await hear(plain(said))
            return await process.wait(), plain(said)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 64 * 1024)
    except OSError:  # the other side is closed
        return b""


def plain(text: str) -> str:
    """What a terminal shows, in one line after the other."""
    return _CODES.sub("", _MOVES.sub(" ", text))
