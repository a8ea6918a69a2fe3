"""A table of subcommands, each imported only when it is called."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from typer._completion_classes import completion_init
from typer.core import TyperGroup
from typer.main import get_command

COMMANDS: dict[str, str] = {
    "up": "Start Styx on this machine.",
    "down": "Stop it; its data stays.",
    "status": "What runs, and whether it is well.",
    "doctor": "Look for what may be wrong here, and say what to do.",
    "demo": "One agent's calls, all the way, on real parts.",
    "login": "Claim the admin link: become this Styx's owner.",
    "passkey": "A link for a passkey of your own.",
    "connect": "Tell an agent's client of Styx.",
    "run": "Run an agent as a Styx task.",
    "wrap": "One call of a tool, as a shim makes it.",
    "mcp": "The MCP server of a task, over stdio.",
    "grants": "What waits, lives and has ended.",
    "approve": "Approve a request, or less than it asks.",
    "deny": "Deny a request.",
    "extend": "Let a live grant go on for as long again, once.",
    "revoke": "End a grant now.",
    "answer": "What agents ask of people, and answering them.",
    "projects": "The projects, and new ones.",
    "targets": "What agents may reach, and new targets.",
    "deploys": "How this repository could be deployed; runs nothing.",
    "policy": "A project's rules.",
    "notify": "How people are told, and by which channels.",
    "audit": "The log: search, export, verify.",
    "provider": "Write the two files of a provider of your own.",
    "completion": "Complete `styx` in your shell.",
    "classify": "What a command would need, with no stack running.",
}


class LazyGroup(TyperGroup):
    """A group that imports `styx_cli.commands.<name>` only when that name is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands, in the order of a first day."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One command; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command = get_command(import_module(f"styx_cli.commands.{cmd_name}").app)
        command.name, command.short_help = cmd_name, COMMANDS[cmd_name]
        return command


def run(argv: Sequence[str]) -> None:
    """Run a command line; leaves with its exit code."""
    completion_init()
    LazyGroup(name="styx", help="Styx: a team's access broker for AI coding agents.")(
        prog_name="styx", args=list(argv)
    )
