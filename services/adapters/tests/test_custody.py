"""Where credentials lie, the key they are sealed to on their way there, and Vault's trouble."""

import pytest
from adapter_fixture import MemoryVault
from styx_adapters.custody import SEALING_KEY, credential_ref, plain, sealing_key
from styx_core.errors import NotConnected, StyxError, Unavailable
from styx_core.seal import connect_info, seal
from styx_core.vault import (
    NoSuchSecret,
    VaultDenied,
    VaultError,
    VaultRefused,
    VaultSealed,
    VaultUnavailable,
)


async def test_the_sealing_key_is_made_once_and_kept_in_vault_alone() -> None:
    vault = MemoryVault()
    first = await sealing_key(vault)  # type: ignore[arg-type]
    assert list(vault.held) == [SEALING_KEY]
    again = await sealing_key(vault)  # type: ignore[arg-type]
    assert again.public == first.public
    box = seal({"token": "FIXTURE"}, first.public, connect_info("tgt"))
    assert again.open(box, connect_info("tgt")) == {"token": "FIXTURE"}


async def test_a_sealed_vault_makes_no_second_key() -> None:
    vault = MemoryVault(trouble=VaultSealed("sealed"))
    with pytest.raises(VaultSealed):
        await sealing_key(vault)  # type: ignore[arg-type]
    assert vault.held == {}


def test_a_targets_credential_has_one_place() -> None:
    assert credential_ref("aws", "tgt_1") == "creds/aws/tgt_1"


@pytest.mark.parametrize(
    ("error", "becomes", "says"),
    [
        (NoSuchSecret("creds/aws/x"), NotConnected, "connect it again"),
        (VaultSealed("creds/aws/x"), Unavailable, "sealed or away"),
        (VaultUnavailable("creds/aws/x"), Unavailable, "sealed or away"),
        (VaultDenied("creds/aws/x"), Unavailable, "log of adapters"),
        (VaultRefused("creds/aws/x"), Unavailable, "log of adapters"),
    ],
)
def test_vaults_trouble_is_told_in_our_words(
    error: VaultError, becomes: type[StyxError], says: str
) -> None:
    told = plain(error)
    assert type(told) is becomes
    assert says in told.detail
    assert "creds/" not in told.detail
