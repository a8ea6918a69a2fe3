"""The approver's side: their secret, and what derives from it.

The secret is made here at `styx login`, shown once and kept nowhere by Styx: an agent runs as the
same user and could read any file. It comes back as STYX_ADMIN_TOKEN or is asked for, unseen. The
bearer (who I am) and the signing key (what I decide) both derive from it; neither tells the other.
"""

import getpass
import os
import sys
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from styx_core import signing

from styx_cli.client import Client, find_broker
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.owner_token import raw


class Approver:
    """A person who may sign, and their way to the broker."""

    def __init__(self, secret: bytes, client: Client) -> None:
        self._secret = secret
        self.client = client

    @classmethod
    def from_environ(cls, environ: Mapping[str, str] = os.environ) -> "Approver":
        """From STYX_ADMIN_TOKEN, or asked for on a terminal. Raises `Failure`."""
        secret = environ.get("STYX_ADMIN_TOKEN", "")
        if not secret and sys.stdin.isatty():
            secret = getpass.getpass("owner's token (styx_own_…): ")
        if not secret:
            raise Failure(
                "this needs the owner's token: set STYX_ADMIN_TOKEN (from `styx login`).",
                Exit.CONFIG,
            )
        known = raw(secret)
        return cls(known, Client(find_broker(environ), signing.bearer(known)))

    @property
    def key(self) -> Ed25519PrivateKey:
        """The signing key."""
        return signing.signing_key(self._secret)

    def sign(self, payload: str) -> str:
        """The signature over a decision, a policy or a target."""
        return signing.sign(self.key, payload)
