"""`styx status`: what runs, whether it is well, and what waits for a person."""

import os
from typing import Annotated, Any

import typer

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)
SERVICES = ("broker", "grants", "adapters", "audit", "mcp-gateway")


@app.command()
def status(json: Annotated[bool, typer.Option("--json", help="as JSON")] = False) -> None:
    """Every service's health, running tasks, and how many requests wait."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        health = {name: ready(client, name) for name in SERVICES}
        tasks = client.call("GET", "/v1/tasks")
        waiting = client.call("GET", "/v1/grants", state="pending")
    if json:
        show.as_json(
            {"url": client.address.url, "services": health, "tasks": tasks, "pending": waiting}
        )
    else:
        print(f"Styx at {client.address.url}")
        show.table(("service", "ready", "parts"), (row(n, h) for n, h in health.items()), "")
        print(f"{len(tasks)} tasks run; {len(waiting)} requests wait (styx grants --state pending)")
    raise typer.Exit(0 if all(h["ok"] for h in health.values()) else 1)


def ready(client: Client, name: str) -> dict[str, Any]:
    """One service's own word, whether it is ready or not. Raises `Failure` where nobody spoke."""
    try:
        found: dict[str, Any] = client.call("GET", f"/services/{name}/readyz")
        return found
    except Failure as failure:
        if not failure.problem:
            raise
        return {"ok": False, "parts": {}, **failure.problem}


def row(name: str, health: dict[str, Any]) -> tuple[object, ...]:
    """A service as a table's row."""
    parts = ", ".join(f"{p}: {'ok' if ok else 'NO'}" for p, ok in health["parts"].items())
    return name, "yes" if health["ok"] else "NO", parts
