"""Whose call it is: the bearer's hash, asked of `broker` for every call and kept nowhere."""

import hashlib

from styx_core.bus import Bus
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.errors import Unauthenticated

LONGEST_TOKEN = 512


def bearer(authorization: str | None) -> str:
    """The token of an `Authorization` header. Raises `Unauthenticated`."""
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > LONGEST_TOKEN:
        raise Unauthenticated(
            "no task token: send `Authorization: Bearer <STYX_TOKEN>`; `styx run -- <agent>` sets "
            "it for its agent"
        )
    return token


async def identify(token: str, bus: Bus) -> TaskIdentity:
    """The live task that a token is of. Raises `Unauthenticated`."""
    digest = hashlib.sha256(token.encode("latin-1", "replace")).hexdigest()
    return await bus.request(IdentifyTask(token_sha256=digest))
