"""A stored SSH key that nobody is ever handed: it lies in Vault's transit engine and signs logins.

For hosts that can't trust a CA. What is issued is the key's public half, for an agent socket whose
signatures are made here, one login at a time, while the grant lives. Vault's entry holds the key's
name; its text goes into transit and nowhere else, and nothing takes it out again.
"""

import base64

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_ssh_private_key,
)
from styx_core.errors import Forbidden, Invalid
from styx_core.ids import new_id
from styx_core.ssh_challenge import NotALogin, check_login
from styx_core.vault import Vault
from styx_core.vault_import import PREFIX, bring_in_key

from styx_adapters.adapter import Config, Secret
from styx_adapters.ssh_login import KEY_TYPE, login, signing_pair

REFUSED = "the host refuses the key: it must be in the login's authorized_keys"


async def bring_in(vault: Vault, config: Config, text: str) -> dict[str, str]:
    """Try the key at its host, then keep it in transit; what Vault's entry holds of it."""
    import asyncssh

    key = _private(text)
    pair = asyncssh.import_private_key(text)
    await login(config, pair, REFUSED)
    name = f"{PREFIX}ssh-{new_id('key').removeprefix('key_')}"
    await bring_in_key(vault, name, key, "ed25519")
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return {"key": name, "public": line.decode()}


async def sign(vault: Vault, secret: Secret, config: Config, data: bytes) -> bytes:
    """The raw signature of one login as the target's user. Raises `Forbidden` for other data."""
    try:
        check_login(data, config["user"], KEY_TYPE, blob(secret))
    except NotALogin as why:
        raise Forbidden(f"the key signs logins to its own target only: {why}") from None
    return await vault.transit_sign(secret["key"], data)


async def try_login(vault: Vault, secret: Secret, config: Config) -> None:
    """Log in with the key where it is. Raises `LoginExpired` or `ProviderFailed`."""

    async def signed(data: bytes) -> bytes:
        return await sign(vault, secret, config, data)

    await login(config, signing_pair(blob(secret), signed), REFUSED)


def blob(secret: Secret) -> bytes:
    """The key's public half, as SSH sends it."""
    return base64.b64decode(str(secret["public"]).split()[1])


def _private(text: str) -> Ed25519PrivateKey:
    load = load_ssh_private_key if "OPENSSH" in text else load_pem_private_key
    try:
        key = load(text.encode(), password=None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise Invalid(
            "private_key: an Ed25519 key without a passphrase is needed (ssh-keygen -t ed25519)"
        )
    return key
