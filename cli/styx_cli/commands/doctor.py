"""`styx doctor`: look for what may be wrong on this machine, and say what to do about each."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from styx_cli import show
from styx_cli.client import data_folder
from styx_cli.engines import binaries
from styx_cli.local import read_stack

app = typer.Typer(add_completion=False)


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    ok: bool
    says: str


@app.command()
def doctor(json: Annotated[bool, typer.Option("--json", help="as JSON")] = False) -> None:
    """Check this machine; exit 1 when something needs doing."""
    found = list(findings(data_folder(os.environ)))
    if json:
        show.as_json([finding._asdict() for finding in found])
    else:
        rows = (("ok" if f.ok else "DO", f.what, f.says) for f in found)
        show.table(("", "what", ""), rows, "")
    raise typer.Exit(0 if all(f.ok for f in found) else 1)


def findings(folder: Path) -> Iterator[Finding]:
    """Everything worth a look, in the order of a start."""
    version = ".".join(map(str, sys.version_info[:3]))
    yield Finding("Python", sys.version_info >= (3, 11), f"{version} (3.11 or newer is needed)")
    for name in ("nats-server", "bao"):
        yield engine(name)
    for tool in ("aws", "ssh"):
        at = shutil.which(tool)
        yield Finding(tool, True, at or "not installed; only agents that use it need it")
    yield from kept(folder)
    running = read_stack(folder)
    yield Finding("stack", running is not None, running.url if running else "not up: styx up")


def engine(name: str) -> Finding:
    """Whether an engine's binary is there."""
    try:
        return Finding(name, True, str(binaries.find(name)))
    except binaries.BinaryMissing as missing:
        return Finding(name, False, str(missing))


def kept(folder: Path) -> Iterator[Finding]:
    """Whether the data folder keeps its secret to its owner."""
    if not folder.exists():
        yield Finding("data folder", True, f"{folder} (made at the first start)")
        return
    for path, wanted in ((folder, 0o700), (folder / "styx.key", 0o600)):
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
            says = str(path) if mode == wanted else f"chmod {wanted:o} {path} (it is {mode:o})"
            yield Finding(path.name, mode == wanted, says)
    free = shutil.disk_usage(folder).free // 2**20
    yield Finding("free disk", free > 500, f"{free} MiB at {folder}")
