"""`styx grants`: what waits, what lives and what has ended."""

import os
from typing import Annotated, Any

import typer

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.deciding import find_grant
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False, invoke_without_command=True)
Json = Annotated[bool, typer.Option("--json", help="as JSON")]


@app.callback()
def list_grants(
    ctx: typer.Context,
    state: Annotated[list[str] | None, typer.Option(help="pending, active, …")] = None,
    project: Annotated[str | None, typer.Option(help="of one project")] = None,
    json: Json = False,
) -> None:
    """List grants, newest first."""
    if ctx.invoked_subcommand is not None:
        return
    with plain_errors():
        found = fetch(state, project)
        if json:
            show.as_json(found)
            return
        columns = ("grant", "state", "who", "target", "env", "scopes", "command", "ends", "by")
        show.table(columns, (row(grant) for grant in found), "No grants yet.")


@app.command("show")
def show_one(grant_id: str, json: Json = False) -> None:
    """Show one grant whole."""
    with plain_errors():
        grant = one(grant_id)
        if json:
            show.as_json(grant)
            return
        show.facts({**grant, "command": show.command(grant["command"])})


def fetch(state: list[str] | None = None, project: str | None = None) -> list[dict[str, Any]]:
    """Grants from the broker. Raises `Failure`."""
    client = Client.from_environ(os.environ)
    found: list[dict[str, Any]] = client.call("GET", "/v1/grants", state=state, project=project)
    return found


def one(grant_id: str) -> dict[str, Any]:
    """One grant by its id, or by the end of it. Raises `Failure`."""
    found = find_grant(fetch(), grant_id)
    if found is None:
        raise Failure(f"no grant {grant_id}; `styx grants` lists them.", Exit.USAGE)
    return found


def row(grant: dict[str, Any]) -> tuple[object, ...]:
    """A grant as a table's row."""
    return (
        grant["id"],
        grant["state"],
        f"{grant['agent']} of {grant['person']}",
        grant["target"],
        grant["env"],
        ",".join(grant["scopes"]),
        show.command(grant["command"])[:60] or "(asked ahead)",
        show.when(grant["expires_at"]) if grant["state"] == "active" else "·",
        grant["decided_person"] or grant["decided_by"],
    )
