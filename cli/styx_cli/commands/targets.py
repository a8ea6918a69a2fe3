"""`styx targets`: what agents may reach, and connecting more of it."""

import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Any

import typer
from styx_core.ids import new_id

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import Client, plain_errors
from styx_cli.commands.policy import find_project
from styx_cli.connecting import connect as connect_target
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False, invoke_without_command=True)
Json = Annotated[bool, typer.Option("--json", help="as JSON")]


@app.callback()
def list_targets(
    ctx: typer.Context,
    project: Annotated[str | None, typer.Option(help="of one project")] = None,
    json: Json = False,
) -> None:
    """List targets."""
    if ctx.invoked_subcommand is not None:
        return
    with plain_errors():
        found = Client.from_environ(os.environ).call("GET", "/v1/targets", project=project)
        if json:
            show.as_json(found)
            return
        names = ("name", "provider", "env", "lock_state", "label", "id")
        rows = ([t[name] for name in names] for t in found)
        show.table(names, rows, "No target yet: styx targets connect --help")


@app.command()
def connect(
    name: str,
    provider: Annotated[str, typer.Option(help="aws, ssh, …")],
    env: Annotated[str, typer.Option(help="prod, staging, preview or scm")],
    method: Annotated[str | None, typer.Option(help="how; default: the provider's first")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE, not secret")] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", help="NAME=PATH, a secret that lies in a file")
    ] = None,
    project: Annotated[str | None, typer.Option(help="which project")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="from `targets prepare`")] = None,
    json: Json = False,
) -> None:
    """Connect a target. Secrets are asked for unseen, or read from stdin as NAME=VALUE lines."""
    with plain_errors():
        approver = Approver.from_environ()
        made = logged_in(
            approver,
            find_project(approver.client, project),
            {"name": name, "provider": provider, "env": env, "id": id_, "config": {}},
            method,
            pairs(set_ or []),
            read_secrets(file or []),
        )
        if json:
            show.as_json(made)
        else:
            print(f"Connected {made['name']}: {made['label']}.")


@app.command()
def reconnect(
    name: str,
    method: Annotated[str | None, typer.Option(help="another way than before")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE to change")] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", help="NAME=PATH, a secret that lies in a file")
    ] = None,
    project: Annotated[str | None, typer.Option(help="which project")] = None,
    json: Json = False,
) -> None:
    """Give a target a new login; its name, env, rules and grants stay."""
    with plain_errors():
        approver = Approver.from_environ()
        owner = find_project(approver.client, project)
        known = approver.client.call("GET", "/v1/targets", project=owner["id"])
        target = next((t for t in known if name in (t["name"], t["id"])), None)
        if target is None:
            raise Failure(f"no target {name!r}; `styx targets` shows them", Exit.USAGE)
        way = method or target["config"].get("method")
        changed, given = pairs(set_ or []), read_secrets(file or [])
        made = logged_in(approver, owner, target, way, changed, given)
        if json:
            show.as_json(made)
        else:
            print(f"Reconnected {made['name']}: {made['label']}.")


def logged_in(
    approver: Approver,
    project: Mapping[str, Any],
    target: Mapping[str, Any],
    method: str | None,
    changed: Mapping[str, str],
    given: Mapping[str, str],
) -> Any:
    """Connect `target` by `method`, with what `changed`; secrets are `given` or asked for."""
    providers = approver.client.call("GET", "/v1/catalog")["providers"]
    way, fields = find_method(providers, target["provider"], method)
    shown = {f["name"] for f in fields if not f["secret"]}
    asked = [f for f in fields if f["secret"] and f["name"] not in given]
    return connect_target(
        approver,
        project,
        name=target["name"],
        provider=target["provider"],
        env=target["env"],
        method=way,
        config={**{k: v for k, v in target["config"].items() if k in shown}, **changed},
        secret={**given, **ask_secrets(asked)},
        target_id=target["id"],
    )


@app.command()
def check(
    name: Annotated[str | None, typer.Argument(help="one target; default: all")] = None,
    json: Json = False,
) -> None:
    """Try targets' own logins with their providers now; an expired one is marked."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        known = client.call("GET", "/v1/targets")
        chosen = [t for t in known if name in (None, t["name"], t["id"])]
        if name is not None and not chosen:
            raise Failure(f"no target {name!r}; `styx targets` shows them", Exit.USAGE)
        found = [{**t, **client.call("POST", f"/v1/targets/{t['id']}/check")} for t in chosen]
        if json:
            show.as_json(found)
        else:
            rows = ([t["name"], t["provider"], health(t), t["detail"]] for t in found)
            show.table(("name", "provider", "login", "detail"), rows, "No target yet.")
        if any(t["expired"] for t in found):
            raise typer.Exit(Exit.CONFIG)
        if not all(t["ok"] for t in found):
            raise typer.Exit(Exit.UNAVAILABLE)


def health(answer: Mapping[str, Any]) -> str:
    """What a check found, in a word or two."""
    if answer["ok"]:
        return "works"
    return "expired: reconnect" if answer["expired"] else "no answer now"


@app.command()
def prepare(
    provider: str,
    method: Annotated[str | None, typer.Option(help="how; default: the provider's first")] = None,
) -> None:
    """What to set up at the other end before `connect`, with the id that the target will have."""
    with plain_errors():
        client = Client.from_environ(os.environ)
        catalog = client.call("GET", "/v1/catalog")
        way, _ = find_method(catalog["providers"], provider, method)
        text = catalog["providers"][provider]["methods"][way]["prepare"]
        if not text:
            raise Failure(
                f"{provider} by {way} needs nothing before `styx targets connect`.", Exit.USAGE
            )
        target_id, issuer = new_id("tgt"), catalog["issuer"]
        words = {
            "target": target_id,
            "issuer": issuer,
            "issuer_host": issuer.partition("://")[2],
            "styx": client.address.url,
            "ssh_ca": catalog["public"].get("ssh_ca", ""),
        }
        print(Template(text).safe_substitute(words))
        connecting = f"--provider {provider} --method {way} --id {target_id}"
        print(f"# then: styx targets connect NAME {connecting} --env …")


def find_method(
    providers: Mapping[str, Any], provider: str, method: str | None
) -> tuple[str, list[dict[str, Any]]]:
    """A way to connect and its fields. Raises `Failure`."""
    if provider not in providers:
        raise Failure(f"--provider: one of {', '.join(providers)}", Exit.USAGE)
    methods = providers[provider]["methods"]
    way = method or next(iter(methods))
    if way not in methods:
        raise Failure(f"--method: {provider} has {', '.join(methods)}", Exit.USAGE)
    return way, methods[way]["fields"]


def pairs(words: list[str], what: str = "--set", form: str = "NAME=VALUE") -> dict[str, str]:
    """NAME=VALUE words as a mapping. Raises `Failure`."""
    if any("=" not in word for word in words):
        # The word itself may be a secret that was mistyped: never in the message.
        raise Failure(f"{what}: say {form}", Exit.USAGE)
    return dict(word.split("=", 1) for word in words)


def read_secrets(words: list[str]) -> dict[str, str]:
    """The secrets that lie in files, by NAME=PATH. Raises `Failure` naming the one that can't."""
    found = {}
    for name, path in pairs(words, "--file", "NAME=PATH").items():
        try:
            found[name] = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as wrong:
            why = getattr(wrong, "strerror", None) or "not a text"
            raise Failure(f"--file {name}: {path} can't be read: {why}", Exit.USAGE) from None
    return found


def ask_secrets(fields: list[dict[str, Any]]) -> dict[str, str]:
    """The secret fields: unseen from a terminal, else NAME=VALUE lines of stdin."""
    if not fields:
        return {}
    if not sys.stdin.isatty():
        return pairs([line.rstrip("\n") for line in sys.stdin if line.strip()], "stdin")
    return {f["name"]: getpass.getpass(f"{f['label']}: ") for f in fields if f["required"]}
