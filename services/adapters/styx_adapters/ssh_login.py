"""Logging in to an SSH host, to see that a target works: by a key in memory, or one inside Vault.

Nothing of whoever started us is used: neither their agent nor their configuration.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from styx_core.errors import LoginExpired, ProviderFailed

from styx_adapters.adapter import Config

if TYPE_CHECKING:
    import asyncssh

CONNECT_SECONDS = 10.0
KEY_TYPE = "ssh-ed25519"
Sign = Callable[[bytes], Awaitable[bytes]]


async def login(config: Config, key: Any, refused: str) -> None:
    """Log in and run `true`. `key` is what asyncssh takes as a client's key.

    Raises `LoginExpired` with `refused` when the host won't have it, else `ProviderFailed`.
    """
    import asyncssh  # slow to import: only connecting needs it

    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            async with asyncssh.connect(
                config["host"].strip("[]"),
                int(config["port"]),
                username=config["user"],
                client_keys=[key],
                known_hosts=None,
                agent_path=None,
                config=None,
            ) as connection:
                await connection.run("true", check=True)
    except asyncssh.PermissionDenied:
        raise LoginExpired(refused) from None
    except (OSError, TimeoutError, asyncssh.Error) as error:
        raise ProviderFailed(
            f"{config['host']}:{config['port']} did not answer as an SSH host "
            f"({type(error).__name__})"
        ) from None


def signing_pair(blob: bytes, sign: Sign) -> "asyncssh.SSHKeyPair":
    """An Ed25519 key pair whose private half is elsewhere: `sign` answers raw signatures."""
    import asyncssh
    from asyncssh.packet import String

    name = KEY_TYPE.encode()

    class Elsewhere(asyncssh.SSHKeyPair):
        """It signs by asking."""

        async def sign_async(self, data: bytes) -> bytes:
            return bytes(String(name) + String(await sign(data)))

    return Elsewhere(name, name, (name,), (name,), blob, None)
