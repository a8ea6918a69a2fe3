"""Custody: Vault paths of credentials, and the key that secrets are sealed to on their way here."""

from styx_core.errors import NotConnected, Unavailable
from styx_core.seal import OpeningKey
from styx_core.vault import NoSuchSecret, Vault, VaultError, VaultUnavailable

SEALING_KEY = "creds/sealing-key"


def credential_ref(provider: str, target_id: str) -> str:
    """Where a target's credential lies; the same for each new credential of that target."""
    return f"creds/{provider}/{target_id}"


async def sealing_key(vault: Vault) -> OpeningKey:
    """The one key of all adapters: made at the first start, kept in Vault alone."""
    try:
        return OpeningKey.from_seeds((await vault.read(SEALING_KEY))["seeds"])
    except NoSuchSecret:
        key = OpeningKey.make()
        await vault.write(SEALING_KEY, {"seeds": key.seeds()})
        return key


def plain(error: VaultError) -> Unavailable | NotConnected:
    """Vault's trouble in words for the caller."""
    if isinstance(error, NoSuchSecret):
        return NotConnected("this target's credential is gone from Vault; connect it again")
    if isinstance(error, VaultUnavailable):
        return Unavailable("Vault is sealed or away, so nothing was issued; try again")
    return Unavailable("Vault refused; the log of adapters says why. Nothing was issued")
