"""RSA keys inside a real OpenBao: what they sign verifies outside, and they never come out."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from styx_cli.engines.run import running_engines
from styx_core import keyring, vault_bootstrap, vault_rsa
from styx_core.ids import new_id
from styx_core.vault import Vault, VaultDenied, VaultError

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

CLAIMS = {"iss": "https://styx.test", "sub": "target:x", "aud": "somebody"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vault(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Vault]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data) as engines:
        secret = keyring.secret_id(engines.root, "adapters")
        made = Vault(engines.bao_url, vault_bootstrap.role_id("adapters"), secret)
        yield made
        await made.close()


def pem(key: Any) -> str:
    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def read(token: str, jwk: Mapping[str, Any]) -> dict[str, Any]:
    """The claims, if this key signed them."""
    return dict(jwt.decode(token, jwt.PyJWK(dict(jwk)), ["RS256"], audience="somebody"))


async def test_a_key_made_inside_signs_what_its_public_half_verifies(vault: Vault) -> None:
    name = f"adapters-{new_id('tgt')}"
    await vault_rsa.make(vault, name)
    jwk = await vault_rsa.public_jwk(vault, name)
    await vault_rsa.make(vault, name)
    assert await vault_rsa.public_jwk(vault, name) == jwk, "making again leaves the key as it was"
    token = await vault_rsa.sign_jwt(vault, name, CLAIMS, jwk["kid"])
    assert read(token, jwk) == CLAIMS
    assert jwt.get_unverified_header(token)["kid"] == jwk["kid"]


@pytest.mark.parametrize("bits", [2048, 3072, 4096])
async def test_a_key_brought_in_signs_as_itself(vault: Vault, bits: int) -> None:
    key, name = rsa.generate_private_key(65537, bits), f"adapters-{new_id('tgt')}"
    await vault_rsa.bring_in(vault, name, pem(key))
    token = await vault_rsa.sign_jwt(vault, name, CLAIMS)
    assert jwt.decode(token, key.public_key(), ["RS256"], audience="somebody") == CLAIMS
    await vault_rsa.make(vault, "adapters-other")
    other = await vault_rsa.public_jwk(vault, "adapters-other")
    with pytest.raises(jwt.InvalidSignatureError):
        read(token, other)


async def test_a_key_never_comes_out(vault: Vault) -> None:
    key, name = rsa.generate_private_key(65537, 2048), f"adapters-{new_id('tgt')}"
    await vault_rsa.bring_in(vault, name, pem(key))
    shown = json.dumps(await vault.get(f"transit/keys/{name}"))
    assert "PRIVATE" not in shown
    assert str(key.private_numbers().d) not in shown
    for path in (f"transit/export/signing-key/{name}", f"transit/backup/{name}"):
        with pytest.raises(VaultDenied):
            await vault.get(path)


@pytest.mark.parametrize(
    "text",
    [
        "FIXTURE-no-key",
        pem(ec.generate_private_key(ec.SECP256R1())),
        pem(rsa.generate_private_key(65537, 1024)),
        "",
    ],
)
async def test_what_is_no_key_is_refused_and_not_quoted(vault: Vault, text: str) -> None:
    with pytest.raises(vault_rsa.NotAKey) as told:
        await vault_rsa.bring_in(vault, "adapters-none", text)
    assert not text or text not in str(told.value)


async def test_a_key_is_not_replaced_by_another(vault: Vault) -> None:
    name = f"adapters-{new_id('tgt')}"
    await vault_rsa.bring_in(vault, name, pem(rsa.generate_private_key(65537, 2048)))
    with pytest.raises(VaultError):
        await vault_rsa.bring_in(vault, name, pem(rsa.generate_private_key(65537, 2048)))
