"""Write the folder of shims that goes first on an agent's PATH: one small script for each tool.

A script names its interpreter by full path (a search through a version switch costs 250 ms) with
`-IS`, so that neither the agent's PYTHON* variables nor site-packages reach it, and imports the
shim, compiled once, instead of being it: measured 12 ms, against 20 for a script of that length
and 17 through `/bin/sh`. Both lines that the system reads carry no word from outside but tool
names, which are checked.
"""

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile

from styx_cli.child import MARK

KINDS = ("env", "ssh-agent")
TOOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\Z")
PACKAGES = Path(__file__).resolve().parent.parent
# Linux before 5.1 cuts a longer first line off, and none splits one at a quoted space.
LONGEST_FIRST_LINE = 127


def write_shims(folder: Path, tools: Mapping[str, str], python: str = sys.executable) -> None:
    """Make `folder` (mode 0700) hold exactly one shim (0755) for each of `tools`: name to kind.

    Each file is replaced whole, so that a call that runs meanwhile meets the old one or the new.
    Raises `ValueError` for a name that isn't a plain file name or a kind that isn't in `KINDS`.
    """
    for tool, kind in tools.items():
        if not TOOL.match(tool):
            raise ValueError(f"{tool!r} can't be a shim's name: use letters, digits and . _ + -")
        if kind not in KINDS:
            raise ValueError(f"{tool}: unknown kind {kind!r}; there are {', '.join(KINDS)}")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for tool, kind in tools.items():
        _replace(folder / tool, script(tool, kind, folder, python))
    for path in folder.iterdir():
        if path.name not in tools:
            path.unlink()


def write_styx(folder: Path, python: str = sys.executable) -> None:
    """Put `styx` itself beside the shims: a client's file names `styx mcp` by that one word."""
    _replace(folder / "styx", f'#!/bin/sh\nexec {shlex.quote(python)} -I -m styx_cli "$@"\n')


def script(tool: str, kind: str, folder: Path, python: str) -> str:
    """The text of one shim."""
    mark = MARK.decode()
    code = (
        f"import sys\nsys.path.insert(0, {str(PACKAGES)!r})\nfrom styx_cli.shim import start\n"
        f"start({tool!r}, {kind!r}, {str(folder)!r}, sys.argv[1:])\n"
    )
    first = f"#!{python} -IS"
    if len(first.encode()) <= LONGEST_FIRST_LINE and not re.search(r"\s", python):
        return f"{first}\n{mark}\n{code}"
    return f'#!/bin/sh\n{mark}\nexec {shlex.quote(python)} -I -S -c {shlex.quote(code)} "$@"\n'


def _replace(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", dir=path.parent, prefix=".new-", delete=False) as file:
        file.write(text)
    fresh = Path(file.name)
    fresh.chmod(0o755)
    fresh.replace(path)
