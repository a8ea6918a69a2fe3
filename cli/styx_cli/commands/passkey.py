"""`styx passkey`: a link by which a browser makes a passkey for you."""

import hashlib
import secrets
from typing import Annotated

import typer
from styx_core.signing import invite_payload

from styx_cli import show
from styx_cli.approver import Approver
from styx_cli.client import plain_errors

app = typer.Typer(add_completion=False)

MINUTES = 15


@app.command()
def passkey(
    as_json: Annotated[bool, typer.Option("--json", help="machine-readable")] = False,
) -> None:
    """Sign a link for a passkey of your own; it works once, within 15 minutes."""
    with plain_errors():
        approver = Approver.from_environ()
        link = own_link(approver)
        if as_json:
            show.as_json({"link": link, "seconds": MINUTES * 60})
        else:
            print(f"Open this in the browser that you approve with, within {MINUTES} minutes:\n")
            print(f"  {link}")


def own_link(approver: Approver) -> str:
    """A link that adds a passkey to this approver. Raises `Failure`."""
    me = approver.client.call("GET", "/v1/me")
    code = f"styx_inv_{secrets.token_urlsafe(32)}"
    said = {
        "code_sha256": hashlib.sha256(code.encode()).hexdigest(),
        "person": me["person"],
        "where": "*",
        "role": None,
        "seconds": MINUTES * 60,
    }
    signature = approver.sign(invite_payload(**said))
    approver.client.call("POST", "/v1/invitations", {**said, "signature": signature})
    return f"{me['web']}/join#{code}"
