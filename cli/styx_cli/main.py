"""The `styx` command: a table of subcommands, each imported only when it is called."""

import sys
from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

COMMANDS: dict[str, str] = {
    "classify": "What a command would need, with no stack running.",
}


class LazyGroup(TyperGroup):
    """A group that imports `styx_cli.commands.<name>` only when that name is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        return get_command(import_module(f"styx_cli.commands.{cmd_name}").app)


def main() -> None:
    """Run the `styx` command line."""
    LazyGroup(name="styx", help="Styx: a team's access broker for AI coding agents.")(
        prog_name="styx", args=sys.argv[1:]
    )
