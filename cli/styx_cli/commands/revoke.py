"""`styx revoke`: end a grant now, and its credentials as far as the provider can."""

import os
from typing import Annotated

import typer

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.commands.grants import one

app = typer.Typer(add_completion=False)
REACH = {
    "hard": "the provider has ended its credential",
    "deny-policy": "the provider now denies everything to its credential",
    "none": "no more comes from it, but what is out is the target's own login, which lives on: "
    "change it at the provider to be sure",
    "expiry": "no new credential comes from it; one already out ends by its own short time",
    None: "no credential was out",
}


@app.command()
def revoke(
    grant_id: str,
    reason: Annotated[str | None, typer.Option(help="for the log")] = None,
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """End a grant; says honestly what that could do."""
    with plain_errors():
        grant = one(grant_id)
        client = Client.from_environ(os.environ)
        answer = client.call("POST", f"/v1/grants/{grant['id']}/revoke", {"reason": reason})
        if json:
            show.as_json({**answer, "revocable": grant["revocable"]})
        else:
            print(f"Revoked {grant['id']}: {REACH.get(grant['revocable'], 'ended')}.")
