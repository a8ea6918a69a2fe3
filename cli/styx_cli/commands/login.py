"""`styx login`: claim the one-time admin link and become this Styx's owner."""

import getpass
import os
import sys
from typing import Annotated

import typer
from styx_core import signing

from styx_cli.client import Address, Client, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.owner_token import new_secret, raw

app = typer.Typer(add_completion=False)


@app.command()
def login(
    name: Annotated[str, typer.Option(help="Your name in decisions and in the log.")] = "",
) -> None:
    """Claim the admin link (asked for, never an argument) and print your token, once."""
    with plain_errors():
        link = read_link()
        secret, person = new_secret(), name or os.environ.get("USER") or "owner"
        claim(link, secret, person)
        terminal = sys.stdout.isatty()
        if terminal:
            print(f"You are {person}, the owner and first approver. Keep this token: it is shown")
            print("this once and stored nowhere. Whoever holds it decides in your name.\n")
        print(f"export STYX_ADMIN_TOKEN={secret}")


def read_link() -> str:
    """The link from the terminal (unseen) or from stdin. Raises `Failure`."""
    link = getpass.getpass("admin link: ") if sys.stdin.isatty() else sys.stdin.readline()
    if "/admin#" not in link:
        raise Failure(
            "that is not an admin link: `styx up` prints it once, as http://…/admin#styx_adm_…",
            Exit.USAGE,
        )
    return link.strip()


def claim(link: str, secret: str, person: str) -> None:
    """Use the link's code; the broker gets what derives from the secret, never the secret."""
    url, _, code = link.partition("/admin#")
    known = raw(secret)
    client = Client(Address(url))
    client.call(
        "POST",
        "/v1/claim",
        {
            "code": code,
            "person": person,
            "bearer": signing.bearer(known),
            "public_key": signing.public_key(signing.signing_key(known)),
        },
    )
    client.close()
