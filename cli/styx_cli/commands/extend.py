"""`styx extend`: let a live grant go on for as long again, once."""

from typing import Annotated

import typer

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import plain_errors
from styx_cli.commands.grants import one
from styx_cli.deciding import extend as extend_it
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)


@app.command()
def extend(
    grant_id: str, json: Annotated[bool, typer.Option("--json", help="as JSON")] = False
) -> None:
    """Sign the one extension of a grant that runs out."""
    with plain_errors():
        grant = one(grant_id)
        if grant["expires_at"] is None:
            raise Failure(f"{grant['id']} has no end that could be put off", Exit.USAGE)
        answer = extend_it(Approver.from_environ(), grant)
        if json:
            show.as_json(answer)
        else:
            print(f"{answer['target']}: until {answer['expires_at'][:16].replace('T', ' ')} UTC.")
