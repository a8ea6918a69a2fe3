"""`styx deny`: say no to a request."""

from typing import Annotated

import typer

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import plain_errors
from styx_cli.commands.grants import one
from styx_cli.deciding import decide

app = typer.Typer(add_completion=False)


@app.command()
def deny(
    grant_id: str,
    reason: Annotated[str | None, typer.Option(help="for the agent and the log")] = None,
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Deny a request; its agent is told why."""
    with plain_errors():
        answer = decide(Approver.from_environ(), one(grant_id), "deny", reason=reason)
        if json:
            show.as_json(answer)
        else:
            print(f"Denied: {', '.join(answer['scopes'])} on {answer['target']}.")
