"""`styx policy`: a project's rules, as TOML."""

import os
import sys
from difflib import unified_diff
from typing import Annotated, Any, TextIO

import typer
from styx_core.ids import new_nonce
from styx_core.printable import printable
from styx_core.signing import policy_payload

from styx_cli import show as show_as
from styx_cli.approver import Approver
from styx_cli.client import Client, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False, no_args_is_help=True)
BECOME = {"allow": "allowed", "ask": "asked for", "deny": "denied"}
Json = Annotated[bool, typer.Option("--json", help="machine-readable")]
Project = Annotated[str | None, typer.Option(help="which project, if there are several")]


@app.command()
def show(project: Project = None) -> None:
    """Print the rules; with none, every request asks a person."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        found = find_project(client, project)
        print(client.call("GET", f"/v1/projects/{found['id']}/policy")["toml"], end="")


@app.command()
def apply(
    file: Annotated[typer.FileText, typer.Argument(help="a TOML file, or - for stdin")],
    project: Project = None,
) -> None:
    """Replace the rules by a file's, signed by you; a faulty file changes nothing."""
    with plain_errors():
        approver, toml = Approver.from_environ(), text_of(file)
        put(approver, find_project(approver.client, project)["id"], toml)
        print("The rules are in force.", file=sys.stderr)


@app.command()
def replay(
    file: Annotated[typer.FileText, typer.Argument(help="a draft: a TOML file, or - for stdin")],
    project: Project = None,
    days: Annotated[int, typer.Option(help="how far back", min=1, max=365)] = 30,
    as_json: Json = False,
) -> None:
    """What a draft would have decided differently; nothing is changed by it."""
    with plain_errors():
        client, toml = Client.from_environ(os.environ), text_of(file)
        path = f"/v1/projects/{find_project(client, project)['id']}/policy/replay"
        said = client.call("POST", path, {"toml": toml, "days": days})
        if as_json:
            return show_as.as_json(said)
        more = ", ".join(f"{said['more'][effect]} more {word}" for effect, word in BECOME.items())
        print(f"Of {said['requests']} requests: {more}.")
        columns = ("when", "who", "target", "what", "was", "would be", "by")
        show_as.table(columns, map(_differing, said["changed"]), "Nothing differs.")


def _differing(each: dict[str, Any]) -> tuple[object, ...]:
    what = show_as.command(each["command"]) or ", ".join(each["scopes"])
    who = f"{each['agent']} of {each['person']}"
    by = ", ".join(each["because"])
    when = show_as.when(each["created_at"])
    return when, who, each["target"], what, each["was"], each["would_be"], by


@app.command(context_settings={"allow_interspersed_args": False})
def simulate(
    target: Annotated[str, typer.Argument(help="the target's name")],
    command: Annotated[list[str], typer.Argument(help="the call, as an agent would run it")],
    project: Project = None,
    agent: Annotated[str, typer.Option(help="whose call it would be")] = "agent",
    draft: Annotated[typer.FileText | None, typer.Option(help="rules to try instead")] = None,
    as_json: Json = False,
) -> None:
    """What the rules would say to a call; nothing is asked for."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        path = f"/v1/projects/{find_project(client, project)['id']}/policy/simulate"
        toml = None if draft is None else text_of(draft)
        body = {"target": target, "command": command, "agent": agent, "toml": toml}
        said = client.call("POST", path, body)
        if as_json:
            return show_as.as_json(said)
        by = f" ({', '.join(said['because'])})" if said["because"] else ""
        print(f"{said['effect']}{by}: {printable(said['why'])}")
        if outweighed := [name for name in said["matched"] if name not in said["because"]]:
            print(f"Also matching, and outweighed: {', '.join(outweighed)}")


@app.command()
def diff(
    file: Annotated[typer.FileText, typer.Argument(help="a draft: a TOML file, or - for stdin")],
    project: Project = None,
) -> None:
    """How a draft differs from the rules in force, as a unified diff; exits 1 where it does."""
    with plain_errors():
        client, toml = Client.from_environ(os.environ), text_of(file)
        path = f"/v1/projects/{find_project(client, project)['id']}/policy"
        old = client.call("GET", path)["toml"].splitlines()
        lines = list(unified_diff(old, toml.splitlines(), "in force", "draft", lineterm=""))
        print(*map(printable, lines), sep="\n", end="\n" if lines else "")
        if lines:
            raise typer.Exit(1)


@app.command()
def suggest(
    project: Project = None,
    days: Annotated[int, typer.Option(help="how far back", min=1, max=365)] = 30,
    as_json: Json = False,
) -> None:
    """Rules for what people approved again and again, as TOML for a draft."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        path = f"/v1/projects/{find_project(client, project)['id']}/policy/suggestions"
        said = client.call("GET", path, days=days)
        if as_json:
            return show_as.as_json(said)
        print("\n".join(f"# {printable(r['reason'])}\n{r['toml']}" for r in said["rules"]), end="")
        if not said["rules"]:
            print(f"Nothing to suggest from {said['requests']} requests.", file=sys.stderr)


def text_of(file: TextIO) -> str:
    """The text of a file. Raises `Failure` naming one that isn't text."""
    try:
        return file.read()
    except UnicodeDecodeError:
        raise Failure(f"{file.name}: not a text in UTF-8.", Exit.USAGE) from None


def find_project(client: Client, named: str | None) -> dict[str, Any]:
    """A project by name or id, or the only one. Raises `Failure`."""
    found: list[dict[str, Any]] = client.call("GET", "/v1/projects")
    fitting = [p for p in found if named in (None, p["name"], p["id"])]
    if len(fitting) != 1:
        names = ", ".join(p["name"] for p in found) or "none yet: styx projects create NAME"
        raise Failure(f"--project: name one of: {names}", Exit.USAGE)
    return fitting[0]


def put(approver: Approver, project_id: str, toml: str) -> None:
    """Sign and send a project's rules. Raises `Failure`."""
    nonce = new_nonce()
    signature = approver.sign(policy_payload(project_id=project_id, toml=toml, nonce=nonce))
    body = {"toml": toml, "nonce": nonce, "signature": signature}
    approver.client.call("PUT", f"/v1/projects/{project_id}/policy", body)
