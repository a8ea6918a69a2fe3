"""`styx projects`: what a team works on."""

import os
from typing import Annotated

import typer

from styx_cli import show
from styx_cli.client import Client, plain_errors

app = typer.Typer(add_completion=False, invoke_without_command=True)
Json = Annotated[bool, typer.Option("--json", help="as JSON")]


@app.callback()
def list_projects(ctx: typer.Context, json: Json = False) -> None:
    """List projects."""
    if ctx.invoked_subcommand is not None:
        return
    with plain_errors():
        found = Client.from_environ(os.environ).call("GET", "/v1/projects")
        if json:
            show.as_json(found)
            return
        rows = ((p["name"], p["id"]) for p in found)
        show.table(("project", "id"), rows, "No project yet: styx projects create NAME")


@app.command()
def create(name: str, json: Json = False) -> None:
    """Make a project."""
    with plain_errors():
        made = Client.from_environ(os.environ).call("POST", "/v1/projects", {"name": name})
        if json:
            show.as_json(made)
        else:
            print(f"Project {made['name']} ({made['id']}).")
