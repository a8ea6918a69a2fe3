"""Who reaches what in a real OpenBao, and that no secret is readable on disk."""

import base64
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from styx_cli.engines.run import KEY_FILE, Engines, running_engines
from styx_core import keyring, vault_bootstrap
from styx_core.vault import (
    Vault,
    VaultDenied,
)

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PLANTED = "FIXTURE-root-credential"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stack") / "data"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(data: Path) -> AsyncIterator[Engines]:
    async with running_engines(data) as started:
        yield started


def sign_in(engines: Engines, service: str, **options: Any) -> Vault:
    secret = keyring.secret_id(engines.root, service)
    return Vault(engines.bao_url, vault_bootstrap.role_id(service), secret, **options)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def adapters(engines: Engines) -> AsyncIterator[Vault]:
    vault = sign_in(engines, "adapters")
    yield vault
    await vault.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def audit(engines: Engines) -> AsyncIterator[Vault]:
    vault = sign_in(engines, "audit")
    yield vault
    await vault.close()


def ed25519_key() -> str:
    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


async def raw_token(engines: Engines, service: str) -> str:
    async with httpx.AsyncClient(base_url=engines.bao_url) as http:
        body = {
            "role_id": vault_bootstrap.role_id(service),
            "secret_id": keyring.secret_id(engines.root, service),
        }
        answer = await http.post("/v1/auth/approle/login", json=body)
    return str(answer.json()["auth"]["client_token"])


async def test_no_role_reaches_the_others_paths(adapters: Vault, audit: Vault) -> None:
    await adapters.write("creds/target", {"key": PLANTED})
    refused = (
        audit.read("creds/target"),
        audit.write("creds/target", {"key": "FIXTURE"}),
        audit.delete("creds/target"),
        audit.ssh_sign(ed25519_key(), "deploy", timedelta(hours=1)),
        audit.ssh_ca_public_key(),
        audit.transit_sign("adapters-github", b"x"),
        adapters.transit_sign("audit", b"x"),
        adapters.transit_public_key("audit"),
        adapters.read("elsewhere/target"),
        adapters.write("elsewhere", {"key": "FIXTURE"}),
    )
    for call in refused:
        with pytest.raises(VaultDenied) as caught:
            await call
        assert "FIXTURE" not in str(caught.value)
    assert await adapters.read("creds/target") == {"key": PLANTED}


@pytest.mark.parametrize("service", vault_bootstrap.SERVICES)
async def test_no_role_reaches_what_makes_the_rules(engines: Engines, service: str) -> None:
    token = await raw_token(engines, service)
    async with httpx.AsyncClient(
        base_url=engines.bao_url, headers={"X-Vault-Token": token}
    ) as http:
        for method, path in (
            ("GET", "sys/mounts"),
            ("GET", "sys/policies/acl/adapters"),
            ("PUT", "sys/policies/acl/adapters"),
            ("PUT", "sys/seal"),
            ("GET", "auth/approle/role/adapters"),
            ("POST", "auth/approle/role/adapters/secret-id"),
            ("POST", "auth/token/create"),
            ("GET", "transit/export/signing-key/audit"),
            ("POST", "transit/keys/audit/config"),
            ("POST", "ssh/roles/agent"),
            ("GET", "styx/metadata/?list=true"),
        ):
            answer = await http.request(method, f"/v1/{path}", json={})
            assert answer.status_code == 403, (method, path)


@pytest.mark.parametrize("service", ["broker", "grants", "mcp-gateway"])
async def test_a_service_without_business_here_has_no_way_in(
    engines: Engines, service: str
) -> None:
    vault = sign_in(engines, service)
    with pytest.raises(VaultDenied):
        await vault.read("creds/target")
    await vault.close()


async def test_wrong_sign_ins_are_refused_and_lock_nobody_out(
    engines: Engines, adapters: Vault
) -> None:
    wrong = Vault(engines.bao_url, vault_bootstrap.role_id("adapters"), "FIXTURE-wrong-secret-id")
    for _ in range(7):
        with pytest.raises(VaultDenied) as caught:
            await wrong.read("creds/any")
        assert "FIXTURE" not in str(caught.value)
    await wrong.close()
    fresh = sign_in(engines, "adapters")
    await fresh.write("creds/any", {"n": 1})
    await fresh.close()


async def test_neither_environment_nor_home_lends_a_token(
    engines: Engines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = await raw_token(engines, "adapters")
    monkeypatch.setenv("VAULT_TOKEN", token)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".vault-token").write_text(token)
    stranger = Vault(engines.bao_url, "styx-nobody", "FIXTURE-nothing")
    assert stranger._client.token == ""
    with pytest.raises(VaultDenied):
        await stranger.read("creds/target")
    await stranger.close()


async def test_what_was_replaced_is_gone(engines: Engines, adapters: Vault) -> None:
    await adapters.write("creds/rotated", {"key": "FIXTURE-old"})
    await adapters.write("creds/rotated", {"key": "FIXTURE-new"})
    token = await raw_token(engines, "adapters")
    url = f"{engines.bao_url}/v1/styx/data/creds/rotated?version=1"
    async with httpx.AsyncClient(headers={"X-Vault-Token": token}) as http:
        assert (await http.get(url)).status_code == 404


async def test_no_secret_is_readable_on_disk(engines: Engines, data: Path, adapters: Vault) -> None:
    """Runs last: everything above has left its traces by now."""
    await adapters.write("creds/planted", {"key": PLANTED})
    await adapters.read("creds/planted")
    services = vault_bootstrap.SERVICES
    secrets = [PLANTED, engines.root.hex(), keyring.seal_key(engines.root)]
    secrets += [keyring.secret_id(engines.root, service) for service in services]
    secrets += [keyring.nats_seed(engines.root, "bootstrap"), str(adapters._client.token)]
    raw = [base64.b64decode(keyring.seal_key(engines.root)), engines.root]
    search(data, secrets, raw)


def search(data: Path, secrets: list[str], raw: list[bytes]) -> None:
    files = [path for path in data.rglob("*") if path.is_file() and path.name != KEY_FILE]
    assert {"bao-audit.log", "bao.hcl", "nats.conf"} <= {path.name for path in files}
    for path in files:
        content = path.read_bytes()
        assert not [s[:12] for s in secrets if s.encode() in content], path
        assert not [r for r in raw if r in content], path
        if path.suffix in (".log", ".hcl", ".conf", ".json"):
            tokens = re.findall(rb"\b(?:hvs|s)\.[A-Za-z0-9]{24,}", content)
            assert not tokens, f"a Vault token in {path}"
    assert (data / KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert data.stat().st_mode & 0o777 == 0o700
