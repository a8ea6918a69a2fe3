"""Noticing a tool that an agent calls by its full path, past its shim.

Such a call gets nothing from Styx, so it holds no credential of ours; but it is worth knowing of,
for it may have found another. A look at the processes below the agent finds those that run a
wrapped tool with no shim above them. Best effort: what is over between two looks is not seen, nor
what has left the agent's tree. Linux only.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

LOOK_SECONDS = 0.2
PROC = Path("/proc")
CHILDREN = PROC / "thread-self" / "children"
"""There on a Linux that keeps these lists (proc(5): CONFIG_PROC_CHILDREN)."""


class Process(NamedTuple):
    """A process: its program and its first words, paths resolved, and whom it has started."""

    program: str
    words: tuple[str, ...]
    children: tuple[int, ...]


def bypassing(
    root: int, read: Callable[[int], Process | None], tools: Mapping[str, str], shims: str
) -> dict[int, str]:
    """The tool of every process below `root` that runs one of `tools` with no shim above it.

    `tools` maps a tool's real path to its name; `shims` is the folder of the shims. A script's
    interpreter is its program, so the first two words count as well. What a shim or a found tool
    has started is no more looked at.
    """
    found: dict[int, str] = {}
    agent = read(root)
    left = list(agent.children) if agent else []
    while left:
        process = read(pid := left.pop())
        if process is None or any(word.startswith(f"{shims}/") for word in process.words):
            continue
        tool = next((tools[p] for p in (process.program, *process.words[:2]) if p in tools), None)
        if tool is None:
            left += process.children
        else:
            found[pid] = tool
    return found


def read_process(pid: int) -> Process | None:
    """A process as proc(5) has it; None for one that is gone or not ours to see."""
    folder = PROC / str(pid)
    try:
        words = (folder / "cmdline").read_bytes().split(b"\0")[:3]
        tasks = [(task / "children").read_text() for task in (folder / "task").iterdir()]
        program = os.readlink(folder / "exe")
    except OSError:
        return None
    shown = tuple(os.fsdecode(word) for word in words)
    paths = tuple(os.path.realpath(word) if word.startswith("/") else word for word in shown)
    return Process(program, paths, tuple(int(child) for line in tasks for child in line.split()))


def real_paths(tools: Mapping[str, str], path: str, shims: str) -> dict[str, str]:
    """Each wrapped tool's real file, wherever it stands on `path`, to the tool's name."""
    found = {}
    for folder in path.split(os.pathsep):
        for tool in tools:
            place = os.path.join(folder, tool)
            if folder != shims and os.access(place, os.X_OK):
                found[os.path.realpath(place)] = tool
    return found


class Lookout:
    """Looks at an agent's processes until the block ends; `tell` hears of each find once."""

    def __init__(
        self, root: int, tools: Mapping[str, str], shims: str, tell: Callable[[str], None]
    ) -> None:
        """`root` is the agent's process; `tools` as `real_paths` has them."""
        self._root, self._tools, self._shims, self._tell = root, tools, shims, tell
        self._over = threading.Event()
        self._told: set[int] = set()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Look from a thread of its own; nothing where there is no /proc or no tool to find."""
        if not self._tools or not CHILDREN.exists():
            yield
            return
        thread = threading.Thread(target=self._run, name="lookout", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.once()

    def once(self) -> None:
        """One look."""
        for pid, tool in bypassing(self._root, read_process, self._tools, self._shims).items():
            if pid not in self._told:
                self._told.add(pid)
                self._tell(tool)
