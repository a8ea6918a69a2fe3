"""The stack on this machine: where it is, and whether its process lives."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Local:
    """A running embedded stack."""

    url: str
    socket: str
    pid: int


def read_stack(folder: Path) -> Local | None:
    """The stack that runs on this data folder; None if none does."""
    try:
        found = Local(**json.loads((folder / "run" / "stack.json").read_text()))
        if found.pid < 1:  # those are groups of processes, to be signalled as a whole
            return None
        os.kill(found.pid, 0)
    except (OSError, OverflowError, TypeError, ValueError):
        return None
    return found


def until(holds: Callable[[], object], seconds: float) -> bool:
    """Wait for something to hold; False when it never did."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False
