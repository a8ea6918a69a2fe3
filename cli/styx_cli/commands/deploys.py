"""`styx deploys`: how this repository could be deployed. It only suggests; it runs nothing."""

import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from styx_core.deploys import Deploy, suggestions

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)

DEEPEST, MOST_FILES = 4, 5000
SKIPPED = frozenset({"node_modules", ".git", ".venv", "vendor", "dist", "build"})


@app.command()
def deploys(
    folder: Annotated[Path, typer.Argument(help="the repository; default: here")] = Path(),
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Suggest commands from the files of a repository, for the targets that are connected."""
    with plain_errors():
        if not folder.is_dir():
            raise Failure(f"{folder} is no folder", Exit.USAGE)
        client = Client.from_environ(os.environ)
        known = client.call("GET", "/v1/catalog")["providers"]
        connected = {target["provider"] for target in client.call("GET", "/v1/targets")}
        declared = [
            (name, [Deploy(tuple(d["command"]), d["file"]) for d in provider["deploys"]])
            for name, provider in known.items()
        ]
        found = suggestions(declared, files(folder), folder.resolve().name)
        if json:
            show.as_json([each._asdict() for each in found])
            return
        rows = (
            [shlex.join(each.command), each.file, "yes" if each.provider in connected else "no"]
            for each in found
        )
        show.table(
            ("command", "because of", "connected"), rows, "Nothing here hints at a deployment."
        )


def files(folder: Path) -> list[str]:
    """The repository's files, as paths below it: git's own list, else what stands there."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"],
            capture_output=True, timeout=10, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return [path for path, _ in zip(_walk(folder), range(MOST_FILES), strict=False)]
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def _walk(folder: Path) -> Iterator[str]:
    for here, below, names in os.walk(folder):
        depth = len(Path(here).relative_to(folder).parts)
        below[:] = sorted(set(below) - SKIPPED) if depth < DEEPEST else []
        yield from (os.path.relpath(os.path.join(here, name), folder) for name in sorted(names))
