"""`styx audit`: the log, its export, and the check of it with the public key alone."""

import os
import sys
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from styx_cli import show
from styx_cli.client import Client, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False, no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="as JSON")]


@app.command()
def log(
    field: Annotated[list[str] | None, typer.Option(help="NAME=VALUE: kind, actor, …")] = None,
    text: Annotated[str | None, typer.Option(help="words anywhere in an entry")] = None,
    limit: Annotated[int, typer.Option(help="how many")] = 50,
    json: Json = False,
) -> None:
    """Search the log, newest first."""
    with plain_errors():
        where = dict(pair.partition("=")[::2] for pair in field or [])
        client = Client.from_environ(os.environ)
        found = client.call("GET", "/audit/entries", text=text, limit=limit, **where)["entries"]
        if json:
            show.as_json(found)
            return
        columns = ("#", "when", "what", "who", "target", "scopes", "command", "why")
        show.table(columns, (row(each) for each in found), "Nothing fits.")


@app.command("show")
def show_one(seq: int) -> None:
    """One entry whole, with its proof and the signed checkpoint."""
    with plain_errors():
        show.as_json(Client.from_environ(os.environ).call("GET", f"/audit/entries/{seq}"))


@app.command()
def export(
    file: Annotated[Path | None, typer.Argument(help="default: stdout")] = None,
) -> None:
    """Write the whole log in the form that `verify` checks."""
    with plain_errors():
        lines = Client.from_environ(os.environ).lines("/audit/export")
        if file is None:
            sys.stdout.writelines(lines)
            return
        first = next(lines, "")  # before an earlier export of this name is given up for it
        with file.open("w") as out:
            out.writelines(chain((first,), lines))
        print(f"written: {file}", file=sys.stderr)


@app.command()
def key() -> None:
    """Print the public key that checkpoints are checked with; keep it apart from exports."""
    with plain_errors():
        print(Client.from_environ(os.environ).call("GET", "/audit/checkpoint")["key"])


@app.command()
def verify(
    file: Annotated[Path | None, typer.Argument(help="an export; default: the running log")] = None,
    key: Annotated[str | None, typer.Option(help="the public key that you trust")] = None,
    json: Json = False,
) -> None:
    """Check every entry against the signed head; name the first that is wrong (exit 1)."""
    with plain_errors():
        if file is None:
            client = Client.from_environ(os.environ)
            trusted = key or client.call("GET", "/audit/checkpoint")["key"]
            verdict = check(client.lines("/audit/export"), trusted)
        elif key is None:
            raise Failure("--key: an export is checked with a key from elsewhere.", Exit.USAGE)
        else:
            with file.open(errors="replace") as lines:
                verdict = check(lines, key)
        report(verdict, json)
    raise typer.Exit(0 if verdict.ok else 1)


def check(lines: Iterable[str], key: str) -> Any:
    """The verdict of the audit package's own verifier. Raises `Failure` for a bad key."""
    found = entry_points(group="styx.verifiers", name="audit")
    verifier: Callable[[Iterable[str], str], Any] = next(iter(found)).load()
    try:
        return verifier(lines, key)
    except ValueError as error:
        raise Failure(f"--key: {error}", Exit.USAGE) from None


def report(verdict: Any, json: bool) -> None:
    """Say how it went."""
    if json:
        show.as_json(
            {"ok": verdict.ok, "proven": verdict.proven, "fault": str(verdict.fault or "")}
        )
    elif verdict.ok:
        root = verdict.checkpoint.root.hex()[:16]
        print(f"All {verdict.proven} entries stand as they were signed (root {root}…).")
    else:
        print(f"NOT proven after {verdict.proven} entries. {verdict.fault}")


def row(found: dict[str, Any]) -> tuple[object, ...]:
    """An entry as a table's row."""
    entry = found["entry"]
    return (
        found["seq"],
        show.when(entry["at"]),
        entry["kind"],
        entry["actor"],
        entry.get("target"),
        ",".join(entry.get("scopes") or []),
        show.command(entry.get("command") or [])[:60],
        entry.get("why") or entry.get("outcome") or "",
    )
