"""`styx approve`: say yes to what a request asks, or to less."""

import sys
from typing import Annotated, Any

import typer
from styx_core.printable import printable

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import plain_errors
from styx_cli.commands.grants import one
from styx_cli.deciding import decide
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)


@app.command()
def approve(
    grant_id: str,
    scope: Annotated[list[str] | None, typer.Option(help="only these of what it asks")] = None,
    duration: Annotated[
        str | None, typer.Option("--for", help="once, 15m, 1h, 8h, task or always")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="for the agent and the log")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="don't ask again")] = False,
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Show a request exactly, then approve and sign it."""
    with plain_errors():
        grant = one(grant_id)
        if not json:
            shown(grant, scope, duration)
        if not yes and not confirmed():
            raise Failure("not approved; the request stays open.", Exit.UNDECIDED)
        answer = decide(Approver.from_environ(), grant, "approve", scope or (), duration, reason)
        if json:
            show.as_json(answer)
        elif answer["status"] == "pending":
            print("Your approval is recorded; another person's is still needed.")
        else:
            print(f"Approved: {', '.join(answer['scopes'])} on {answer['target']}.")


def shown(grant: dict[str, Any], scope: list[str] | None, duration: str | None) -> None:
    """What is about to be signed."""
    show.facts(
        {
            "who": f"{grant['agent']} (agent of {grant['person']})",
            "target": f"{grant['target']} ({grant['provider']}, {grant['env']})",
            "scopes": ", ".join(scope or grant["scopes"]),
            "command": show.command(grant["command"]),
            "understood": grant["understood"],
            "why you": grant["why"],
            "agent says": f"“{printable(grant['reason'])}”" if grant["reason"] else None,
            "for": duration or grant["duration"],
        }
    )


def confirmed() -> bool:
    """Ask on a terminal; without one, `--yes` is needed. Raises `Failure`."""
    if not sys.stdin.isatty():
        raise Failure("no terminal to ask on; say --yes to approve from a script.", Exit.USAGE)
    return input("approve? [y/N] ").strip().lower() in ("y", "yes")
