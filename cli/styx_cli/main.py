"""The `styx` command: a table of subcommands, each imported only when it is called."""

import sys
from importlib import import_module

import click
from typer.main import get_command

COMMANDS: dict[str, str] = {
    "classify": "What a command would need, with no stack running.",
}


class LazyGroup(click.Group):
    """A click group that imports `styx_cli.commands.<name>` only when that name is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        return get_command(import_module(f"styx_cli.commands.{name}").app)


def main() -> None:
    """Run the `styx` command line."""
    LazyGroup(name="styx", help="Styx: a team's access broker for AI coding agents.")(
        prog_name="styx", args=sys.argv[1:]
    )
