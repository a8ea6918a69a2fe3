"""Google Cloud by a service account's stored key, whose private half lives in a real OpenBao."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from conformance import Case, Conformance
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)  # fmt: skip
from gcp_case import DEPLOYER, OTHER, TARGET, Played, google_cloud, token, wanted
from styx_adapters.gcp_key import KEY_PREFIX, KeyFile
from styx_core.errors import Invalid, LoginExpired
from styx_core.scope import Scope
from styx_core.vault import NoSuchSecret, Vault
from vault_fixture import vault

__all__ = ["vault"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER = "styx@acme-prod.iam.gserviceaccount.com"
KEY_ID = "0123456789abcdef0123456789abcdef01234567"


def pem(key: Any) -> str:
    """A private key, as key files hold it."""
    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode())


def key_file(private: str, **more: Any) -> str:
    """A key file in JSON, as IAM makes it."""
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "FIXTURE",
            "private_key_id": KEY_ID,
            "private_key": private,
            "client_email": OWNER,
            "client_id": "1",
            "token_uri": "https://evil.example/token",
            **more,
        },
        indent=2,
    )


@pytest.fixture(scope="module")
def owned() -> tuple[str, str]:
    """A private key and its public half."""
    key = rsa.generate_private_key(65537, 2048)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return pem(key), public.decode()


@pytest.fixture(scope="module")
def played(owned: tuple[str, str]) -> Iterator[Played]:
    with google_cloud() as made:
        made.cloud.keys[OWNER] = owned[1]
        made.cloud.creators |= {DEPLOYER: {OWNER}, OWNER: {OWNER}}
        yield made


@pytest.fixture
def case(vault: Vault, played: Played, owned: tuple[str, str]) -> Case:
    return played.case(
        "service-account",
        played.adapter(vault=vault),
        config={"service_account": DEPLOYER},
        secret={"key": key_file(owned[0])},
        refused={"config": {"service_account": OTHER}},
        unkept=("key",),
    )


class TestServiceAccount(Conformance):
    """Another service account, by this one's key."""

    target = TARGET


async def connected(case: Case, vault: Vault) -> tuple[dict[str, Any], dict[str, str]]:
    """What Vault holds of a connected target, and its config."""
    state: Any = case.state()
    shown = await case.connected(state, TARGET)
    return state.vault.held[shown.credential_ref], dict(shown.config)


async def test_vault_holds_a_name_and_what_is_public(case: Case, vault: Vault) -> None:
    stored, _ = await connected(case, vault)
    name = stored["transit"]
    assert name.startswith(KEY_PREFIX)
    assert stored == {
        "transit": name, "key_id": KEY_ID, "client_email": OWNER, "method": "service-account",
    }  # fmt: skip
    assert (await vault.get(f"transit/keys/{name}"))["exportable"] is False


async def test_without_another_the_keys_own_account_is_meant(
    case: Case, played: Played, vault: Vault
) -> None:
    config = {name: v for name, v in case.config.items() if name != "service_account"}
    stored, shown = await connected(replace(case, config=config), vault)
    assert shown["service_account"] == OWNER
    minted = await case.adapter.issue(stored, shown, wanted(Scope.READ))
    assert played.cloud.tokens[token(minted)].who == OWNER


async def test_a_key_that_google_refuses_is_gone_from_vault_again(
    case: Case, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await keys(vault)
    other = key_file(pem(rsa.generate_private_key(65537, 2048)))
    with pytest.raises(LoginExpired, match="refuses this service account's key") as told:
        await case.connected(case.state(), TARGET, secret={"key": other})
    assert "PRIVATE" not in told.value.detail
    assert await keys(vault) == before


async def keys(vault: Vault) -> set[str]:
    """The names of the keys in transit that this provider made and that are still there."""
    found = set()
    for name in MADE:
        try:
            await vault.get(f"transit/keys/{name}")
        except NoSuchSecret:
            continue
        found.add(name)
    return found


MADE: list[str] = []


@pytest.fixture(autouse=True)
def remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remember the names that keys get, for transit's policy lets nobody list them."""
    from styx_core import vault_rsa

    real = vault_rsa.bring_in

    async def seen(vault: Vault, name: str, private: str) -> None:
        MADE.append(name)
        await real(vault, name, private)

    monkeypatch.setattr(vault_rsa, "bring_in", seen)


async def test_a_replaced_key_is_gone(case: Case, vault: Vault) -> None:
    adapter, ref = case.adapter, f"creds/gcp/{TARGET}"
    first = await adapter.connect("service-account", TARGET, case.config, case.secret)
    await vault.write(ref, first.secret)
    second = await adapter.connect("service-account", TARGET, case.config, case.secret)
    there = await keys(vault)
    assert second.secret["transit"] in there
    assert first.secret["transit"] not in there
    await vault.delete(ref)


async def test_a_deleted_key_is_an_expired_login(
    case: Case, played: Played, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, config = await connected(case, vault)
    monkeypatch.delitem(played.cloud.keys, OWNER)
    with pytest.raises(LoginExpired):
        await case.adapter.issue(stored, config, wanted(Scope.READ))


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("{}", "not the JSON key file"),
        ("{" * 100_000, "not the JSON key file"),
        ('{"type": "authorized_user", "refresh_token": "1//FIXTURE"}', "not the JSON key file"),
        (key_file("x", client_email="me@evil.example"), "no proper client_email"),
        (key_file("x", client_email=7), "no proper client_email"),
        (key_file("x", private_key_id="../../x"), "no proper private_key_id"),
        (key_file(""), "no proper private_key"),
        (key_file("FIXTURE"), "not an RSA private key"),
        (key_file(pem(ec.generate_private_key(ec.SECP256R1()))), "an RSA key of 2048"),
    ],
)
async def test_what_is_no_key_file_is_told_in_words_that_quote_nothing(
    case: Case, file: str, told: str
) -> None:
    with pytest.raises(Invalid, match=f"^key: .*{told}") as error:
        await case.adapter.connect("service-account", TARGET, case.config, {"key": file})
    assert "FIXTURE" not in error.value.detail
    assert "PRIVATE" not in repr(error.value)


async def test_a_key_file_shows_no_key(owned: tuple[str, str]) -> None:
    assert "PRIVATE" not in repr(KeyFile.read(key_file(owned[0])))
