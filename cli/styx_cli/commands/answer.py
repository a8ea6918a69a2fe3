"""`styx answer`: what agents ask of people, and answering them."""

import os
from typing import Annotated, Any

import typer
from styx_core.printable import printable

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.deciding import find_grant as find
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False)


@app.command()
def answer(
    question: Annotated[str | None, typer.Argument(help="its id, or the end of it")] = None,
    said: Annotated[str | None, typer.Argument(help="of a plan: approve, reject, edit")] = None,
    note: Annotated[str | None, typer.Option(help="a further word")] = None,
    json: Annotated[bool, typer.Option("--json", help="as JSON")] = False,
) -> None:
    """Show what waits for an answer, or answer one of them."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        found = client.call("GET", "/v1/questions")
        if question is None:
            show.as_json(found) if json else _table(found)
            return
        one = find(found, question)
        if one is None or said is None:
            raise Failure(
                "name one question that waits, and the answer; `styx answer` shows them",
                Exit.USAGE,
            )
        body = {"answer": said, "note": note}
        made = client.call("POST", f"/v1/questions/{one['id']}/answer", body)
        show.as_json(made) if json else print("Answered.")


def _table(found: list[dict[str, Any]]) -> None:
    names = ("id", "agent", "kind", "question", "options")
    rows = (
        [q["id"], q["agent"], q["kind"], printable(q["text"]), ", ".join(q["options"])]
        for q in found
    )
    show.table(names, rows, "No agent asks anything.")
