"""`styx notify`: how people are told, and what could not be told."""

import base64
import os
import secrets
from typing import Annotated, Any

import typer
from styx_core.ids import new_id

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import Client, plain_errors
from styx_cli.commands.policy import find_project
from styx_cli.commands.targets import ask_secrets
from styx_cli.connecting import sealed
from styx_cli.exits import Exit
from styx_cli.failure import Failure

app = typer.Typer(add_completion=False, invoke_without_command=True)
Json = Annotated[bool, typer.Option("--json", help="as JSON")]
ADDRESS = {
    False: "address, as apprise writes it (ntfy://…, slack://…, mailtos://…)",
    True: "address of the webhook (https://…)",
}


@app.callback()
def list_channels(ctx: typer.Context, json: Json = False) -> None:
    """List channels."""
    if ctx.invoked_subcommand is not None:
        return
    with plain_errors():
        found = Client.from_environ(os.environ).call("GET", "/v1/channels")
        if json:
            show.as_json(found)
            return
        rows = ([c["name"], c["label"], c["person"], _tells(c), c["id"]] for c in found)
        heads = ("name", "channel", "of", "tells of", "id")
        show.table(heads, rows, "No channel yet: styx notify add --help")


def _tells(channel: dict[str, Any]) -> str:
    own = ", own agents only" if channel["only_own"] else ""
    late = f", still waiting after {channel['after_minutes']} min" * bool(channel["after_minutes"])
    return ", ".join(channel["kinds"]) + own + late


@app.command()
def add(
    name: str,
    project: Annotated[str | None, typer.Option(help="which project")] = None,
    webhook: Annotated[bool, typer.Option(help="a signed webhook; prints its key once")] = False,
    kind: Annotated[list[str] | None, typer.Option(help="only of this; may be repeated")] = None,
    own: Annotated[bool, typer.Option(help="only of your own agents")] = False,
    after: Annotated[int, typer.Option(help="minutes: only what still waits then", min=0)] = 0,
    json: Json = False,
) -> None:
    """Be told: by whatever apprise knows, or by a webhook. The address is asked for unseen."""
    with plain_errors():
        approver, channel_id = Approver.from_environ(), new_id("chn")
        owner = find_project(approver.client, project)
        secret = ask_secrets([{"name": "url", "label": ADDRESS[webhook], "required": True}])
        if webhook:
            secret["secret"] = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
        body = {"id": channel_id, "project": owner["id"], "name": name, "only_own": own}
        body |= {"after_minutes": after, "box": sealed(secret, approver, channel_id)}
        body |= {"kinds": kind} if kind else {}
        made = approver.client.call("POST", "/v1/channels", body)
        if json:
            show.as_json(made | ({"secret": secret["secret"]} if webhook else {}))
            return
        print(f"{made['name']}: {made['label']}. Try it: styx notify test {made['name']}")
        if webhook:
            print(f"The key to check signatures with, shown this once: {secret['secret']}")


@app.command("test")
def try_it(name: str, json: Json = False) -> None:
    """Tell something over a channel now."""
    with plain_errors():
        client = Approver.from_environ().client
        said = client.call("POST", f"/v1/channels/{_find(client, name)}/test", {})
        show.as_json(said) if json else print(f"{name} was told.")


@app.command()
def remove(name: str, json: Json = False) -> None:
    """Forget a channel, and what waits to be told over it."""
    with plain_errors():
        client = Approver.from_environ().client
        said = client.call("POST", f"/v1/channels/{_find(client, name)}/remove", {})
        show.as_json(said) if json else print(f"{name} is forgotten.")


@app.command()
def dead(
    retry: Annotated[bool, typer.Option(help="try all of them again")] = False, json: Json = False
) -> None:
    """What could not be told, and why."""
    with plain_errors():
        client = Approver.from_environ().client
        found = client.call("GET", "/v1/dead-letters")
        if retry:
            for each in found:
                client.call("POST", f"/v1/dead-letters/{each['id']}/retry", {})
        if json:
            show.as_json(found)
            return
        rows = ([e["at"][:16], e["title"], e["tries"], e["trouble"]] for e in found)
        show.table(("when", "what", "tries", "why"), rows, "Everything was told.")


def _find(client: Client, named: str) -> str:
    """A channel's id by its name or id. Raises `Failure`."""
    found = [c for c in client.call("GET", "/v1/channels") if named in (c["name"], c["id"])]
    if len(found) != 1:
        what = "several channels" if found else "no channel"
        raise Failure(f"{what} {named!r}; `styx notify` shows them with their ids", Exit.USAGE)
    return str(found[0]["id"])
