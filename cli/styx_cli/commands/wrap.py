"""`styx wrap <tool> args…`: one call as a shim would make it, for scripts and tests.

It wants the environment that `styx run` makes. What kind a tool is stands in `STYX_TOOLS`
(`aws=env ssh=ssh-agent …`); a tool that isn't there gets the kind `env`, and Styx answers for it.
"""

import os
from collections.abc import Mapping
from typing import Annotated

import typer

from styx_cli.shim import start
from styx_cli.shims import TOOL

app = typer.Typer(add_completion=False)


@app.command(context_settings={"allow_interspersed_args": False})
def wrap(
    tool: Annotated[str, typer.Argument(help="The tool's name, as on PATH.")],
    args: Annotated[list[str] | None, typer.Argument(help="Its arguments.")] = None,
) -> None:
    """Ask Styx for one call of a tool and run it."""
    if not TOOL.match(tool):
        raise typer.BadParameter(f"{tool!r} isn't a tool's name: give the name, not a path")
    start(tool, kinds(os.environ).get(tool, "env"), "", args or [])


def kinds(environ: Mapping[str, str]) -> dict[str, str]:
    """Tool to kind, from `STYX_TOOLS`."""
    pairs = (word.partition("=") for word in environ.get("STYX_TOOLS", "").split())
    return {tool: kind for tool, _, kind in pairs}
