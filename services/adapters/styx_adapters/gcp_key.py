"""A service account's key: its private half in Vault's transit engine, the assertions it signs.

Of the key file (IAM, "Create and delete service account keys") only the key, its id and its owner
are used: where it says to send assertions is not, for a file could say anything.
"""

import contextlib
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from styx_core import vault_rsa
from styx_core.errors import Invalid
from styx_core.ids import new_id
from styx_core.vault import NoSuchSecret, VaultError
from styx_core.vault_bootstrap import TRANSIT_MOUNT

from styx_adapters.adapter import Deps, Secret
from styx_adapters.custody import credential_ref
from styx_adapters.gcp_api import ASSERTED_AT, IDENTITY_SCOPE

KEY_PREFIX = f"{vault_rsa.PREFIX}gcp-"
LIFE = timedelta(minutes=5)
EMAIL = r"[a-z0-9][a-z0-9.-]{1,100}@[a-z0-9][a-z0-9.-]{1,100}\.gserviceaccount\.com"
_SHAPES = {"client_email": EMAIL, "private_key_id": r"[0-9a-f]{8,64}", "private_key": r"[\s\S]+"}


@dataclass(frozen=True)
class KeyFile:
    """What a key file says about itself."""

    email: str
    key_id: str
    private_key: str = field(repr=False)

    @classmethod
    def read(cls, text: str) -> "KeyFile":
        """Raises `Invalid`, in words that quote nothing of it."""
        try:
            said = json.loads(text)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or said.get("type") != "service_account":
            raise Invalid("key: this is not the JSON key file of a service account")
        for name, shape in _SHAPES.items():
            if not isinstance(said.get(name), str) or not re.fullmatch(shape, said[name]):
                raise Invalid(f"key: this key file has no proper {name}")
        return cls(said["client_email"], said["private_key_id"], said["private_key"])


class ServiceAccountKeys:
    """The keys of all targets."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    @asynccontextmanager
    async def brought_in(self, target_id: str, file: KeyFile) -> AsyncIterator[dict[str, str]]:
        """What Vault's entry holds of a key that is tried in this block.

        One that fails there is gone from Vault again, as is the one that this one replaces.
        """
        vault, name = self._deps.vault, KEY_PREFIX + new_id("key")
        try:
            await vault_rsa.bring_in(vault, name, file.private_key)
        except vault_rsa.NotAKey as error:
            raise Invalid(f"key: {error}") from None
        try:
            yield {"transit": name, "key_id": file.key_id, "client_email": file.email}
        except BaseException:
            await self._drop(name)
            raise
        with contextlib.suppress(NoSuchSecret):
            before = await vault.read(credential_ref("gcp", target_id))
            await self._drop(str(before.get("transit", "")))

    async def assertion(self, kept: Secret) -> str:
        """A JWT for the token endpoint, signed inside Vault."""
        now = int(self._deps.now().timestamp())
        claims = {
            "iss": kept["client_email"],
            "scope": IDENTITY_SCOPE,
            "aud": ASSERTED_AT,
            "iat": now - 30,
            "exp": now + int(LIFE.total_seconds()),
        }
        return await vault_rsa.sign_jwt(
            self._deps.vault, kept["transit"], claims, kid=kept["key_id"]
        )

    async def _drop(self, name: str) -> None:
        """Delete a key from Vault, best effort: without its name it is of no use to anybody."""
        if name.startswith(KEY_PREFIX):
            path = f"{TRANSIT_MOUNT}/keys/{name}"
            with contextlib.suppress(VaultError):
                await self._deps.vault.post(f"{path}/config", {"deletion_allowed": True})
                await self._deps.vault.remove(path)
