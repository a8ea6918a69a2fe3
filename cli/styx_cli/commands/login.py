"""`styx login`: use the admin link, or an invitation, to give this terminal a key."""

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

LINKS = ("/admin#", "/join#")

app = typer.Typer(add_completion=False)


@app.command()
def login(
    name: Annotated[str, typer.Option(help="Your name in decisions and in the log.")] = "",
) -> None:
    """Use a link (asked for, never an argument) and print your token, once."""
    with plain_errors():
        link = read_link()
        secret, person = new_secret(), name or os.environ.get("USER") or "owner"
        claim(link, secret, person)
        terminal = sys.stdout.isatty()
        if terminal:
            print(f"You are {person}. Keep this token: it is shown this once and stored nowhere.")
            print("Whoever holds it decides in your name.\n")
        print(f"export STYX_ADMIN_TOKEN={secret}")


def read_link() -> str:
    """The link from the terminal (unseen) or from stdin. Raises `Failure`."""
    link = getpass.getpass("admin link: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not any(page in link for page in LINKS):
        raise Failure(
            "that is no link to come in by: `styx up` prints the first one, once, as "
            "http://…/admin#styx_adm_…; an owner makes others, http://…/join#styx_inv_…",
            Exit.USAGE,
        )
    return link.strip()


def claim(link: str, secret: str, person: str) -> None:
    """Use the link's code; the broker gets what derives from the secret, never the secret."""
    page, _, code = link.partition("#")
    url = page.removesuffix("/admin").removesuffix("/join")
    known = raw(secret)
    client = Client(Address(url))
    client.call(
        "POST",
        "/v1/claim",
        {
            "code": code,
            "person": person,
            "bearer": signing.bearer(known),
            "key": signing.public_key(signing.signing_key(known)),
        },
    )
    client.close()
