"""Which loopback ports a data folder's stack listens on.

A port that somebody named is used or refused, never replaced. One that nobody named is the one of
the last run if it is still free, else a free one; it is remembered in the data folder, so that
addresses outlive a restart and two stacks live side by side.
"""

import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"


class PortTaken(Exception):
    """A port that was named in the settings is in use."""


def choose(memory: Path, names: Sequence[str], wanted: Mapping[str, int]) -> dict[str, int]:
    """A port for each of `names`; `wanted` holds those that the settings name (0: any).

    `memory` is the file that remembers them (`ports.json`). Raises `PortTaken`.
    """
    known = _recall(memory)
    with contextlib.ExitStack() as held:
        chosen = {name: _one(held, name, wanted.get(name, 0), known.get(name, 0)) for name in names}
    _remember(memory, known | chosen)
    return chosen


def _one(held: contextlib.ExitStack, name: str, wanted: int, known: int) -> int:
    """Bind one port and keep it bound while the others are chosen, so that none is given twice."""
    if wanted:
        if not _bind(held, wanted):
            raise PortTaken(f"port {wanted} for {name} is in use: name another, or 0 for any")
        return wanted
    return (known and _bind(held, known)) or _bind(held, 0)


def _bind(held: contextlib.ExitStack, port: int) -> int:
    """The port that was bound (0 asks for any free one), or 0 if it can't be."""
    listener = held.enter_context(socket.socket())
    # As the engines do themselves: a connection of the last run that lingers is no hindrance.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()
    except OSError:
        return 0
    return int(listener.getsockname()[1])


def _recall(memory: Path) -> dict[str, int]:
    """What the last run used. A damaged memory costs new ports, nothing else."""
    try:
        found = json.loads(memory.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        str(name): port for name, port in found.items() if type(port) is int and 0 < port < 65_536
    }


def _remember(memory: Path, ports: Mapping[str, int]) -> None:
    draft = memory.with_name(f".{memory.name}.{os.getpid()}")
    draft.write_text(json.dumps(ports, indent=2, sort_keys=True) + "\n")
    draft.replace(memory)
