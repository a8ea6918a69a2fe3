"""Whose call it is: the bearer's hash, asked of `broker` for every call and kept nowhere."""

import hashlib

from styx_core.bus import Bus
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.errors import Unauthenticated

LONGEST_TOKEN = 512


async def identify(authorization: str | None, bus: Bus) -> TaskIdentity:
    """The live task that an `Authorization` header's token is of. Raises `Unauthenticated`."""
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > LONGEST_TOKEN:
        raise Unauthenticated(
            "no task token: send `Authorization: Bearer <STYX_TOKEN>`; `styx run -- <agent>` sets "
            "it for its agent"
        )
    digest = hashlib.sha256(token.encode("latin-1", "replace")).hexdigest()
    return await bus.request(IdentifyTask(token_sha256=digest))
