"""A server child: started, watched, restarted when it dies, ended with its parent.

Rules: its environment is only what it is given; its output goes to a log that its owner alone can
read; it has a session of its own (a Ctrl-C is for Styx, which then stops it in order); on Linux
the kernel kills it when the thread that started it ends, so none is left behind. It can't write a
core file, which would hold secrets.
"""

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

POLL = 0.02
"""Seconds between two looks at a child that isn't ready yet."""
BACKOFF = (0.1, 0.5, 1.0, 2.0, 5.0)
"""Seconds before each further restart; the last one for all that follow."""
LOG_LIMIT = 16 * 1_048_576
"""Bytes after which a log is set aside as `.1` at the next start."""
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


class EngineFailed(Exception):
    """A child ended or wasn't ready in time; the text names its log and quotes its last lines."""


@dataclass(frozen=True, slots=True)
class Command:
    """What to start. `env` may hold secrets and is never shown."""

    name: str
    argv: tuple[str, ...]
    log: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)


class Child:
    """One supervised process. `ready` is asked until it says yes, each time it was started."""

    def __init__(
        self, command: Command, ready: Callable[[], Awaitable[bool]], deadline: float = 30.0
    ) -> None:
        """`deadline` is in seconds from start to ready."""
        self.restarts = 0
        self._command = command
        self._ready = ready
        self._deadline = deadline
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Of the process that runs now or ran last."""
        return self._process.pid if self._process else 0

    async def start(self) -> None:
        """Start it and return once it is ready. Raises `EngineFailed`, leaving nothing running."""
        set_aside(self._command.log)
        try:
            await self._launch()
        except BaseException:
            await self.stop()
            raise
        self._watch = asyncio.create_task(self._supervise(), name=f"watch {self._command.name}")

    async def stop(self, grace: float = 5.0) -> None:
        """Ask it to end, and after `grace` seconds make it; returns when it is gone."""
        if self._watch:
            self._watch.cancel()
            await asyncio.wait([self._watch])
            self._watch = None
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), grace)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _launch(self) -> None:
        log = os.open(self._command.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            self._process = await asyncio.create_subprocess_exec(
                *self._command.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=dict(self._command.env),
                start_new_session=True,
                preexec_fn=_bound_to(os.getpid()),
            )
        except OSError as error:
            raise EngineFailed(f"{self._command.name} can't be started: {error}") from error
        finally:
            os.close(log)
        await self._await_ready(self._process)

    async def _await_ready(self, process: asyncio.subprocess.Process) -> None:
        try:
            async with asyncio.timeout(self._deadline):
                while process.returncode is None:
                    if await self._ready():
                        return
                    await asyncio.sleep(POLL)
        except TimeoutError:
            raise self._failure(f"isn't ready after {self._deadline:g} s") from None
        raise self._failure(f"ended with code {process.returncode}")

    def _failure(self, what: str) -> EngineFailed:
        log = self._command.log
        return EngineFailed(f"{self._command.name} {what}; its log {log} ends with:\n{_tail(log)}")

    async def _supervise(self) -> None:
        """Start it again whenever it ends; one that can't be started is tried for ever."""
        failures = 0
        while self._process:
            await self._process.wait()
            await asyncio.sleep(BACKOFF[min(failures, len(BACKOFF) - 1)])
            self.restarts += 1
            try:
                await self._launch()
                failures = 0
            except EngineFailed:
                failures += 1
                await self._end_unready()

    async def _end_unready(self) -> None:
        """A child that runs but never became ready makes room for the next try."""
        if self._process and self._process.returncode is None:
            self._process.kill()


def set_aside(log: Path, limit: int = LOG_LIMIT) -> None:
    """Rename a log that has grown over `limit` bytes to `….1`, in the place of an older one."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > limit:
            log.replace(log.with_name(f"{log.name}.1"))


def _bound_to(parent: int) -> Callable[[], None]:
    """What the child does between fork and exec. SIGKILL, because a new stack may start at once
    and needs the ports and files; both engines write so that this loses nothing."""

    def prepare() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if _LIBC is not None:
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)

    return prepare


def _tail(log: Path, lines: int = 8) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
    except OSError:
        return "(nothing)"
