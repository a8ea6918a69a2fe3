"""The owner's token: 256 bits in the form that people keep. What goes anywhere derives from it."""

import base64
import binascii
import secrets

from styx_cli.exits import Exit
from styx_cli.failure import Failure

PREFIX = "styx_own_"


def new_secret() -> str:
    """A fresh secret of 256 bits, in the form that people keep."""
    return PREFIX + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("=")


def raw(secret: str) -> bytes:
    """The secret's bytes. Raises `Failure` for a text that isn't one."""
    body = secret.strip().removeprefix(PREFIX)
    try:
        found = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != 32 or not secret.strip().startswith(PREFIX):
        raise Failure(
            f"STYX_ADMIN_TOKEN is not an owner's token: those begin with {PREFIX} and come from "
            "`styx login`.",
            Exit.CONFIG,
        )
    return found
