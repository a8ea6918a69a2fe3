"""SSH certificates from a real OpenBao's CA, read by a real ssh-keygen."""

import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from styx_cli.engines.run import Engines, running_engines
from styx_core import keyring, vault_bootstrap
from styx_core.vault import (
    Vault,
    VaultRefused,
)

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


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


def ed25519_key() -> str:
    public = Ed25519PrivateKey.generate().public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
async def test_an_ssh_certificate_says_exactly_what_was_asked(
    adapters: Vault, tmp_path: Path
) -> None:
    line = await adapters.ssh_sign(
        ed25519_key(),
        "deploy",
        timedelta(minutes=15),
        key_id="grant-1",
        force_command="systemctl restart web",
        source_address="127.0.0.1/32",
    )
    listed = listing(line, tmp_path)
    assert "ssh-ed25519-cert-v01@openssh.com user certificate" in listed
    assert words_under(listed, "Principals:") == ["deploy"]
    assert words_under(listed, "Critical Options:") == [
        "force-command systemctl restart web",
        "source-address 127.0.0.1/32",
    ]
    assert words_under(listed, "Extensions:") == ["permit-pty"]
    assert 'Key ID: "grant-1"' in listed
    assert lifetime(listed) == timedelta(minutes=15, seconds=30), "30 s are for clocks that differ"
    ca = tmp_path / "ca.pub"
    ca.write_text(await adapters.ssh_ca_public_key())
    assert fingerprint(ca) in listed, "signed by the CA that hosts trust"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
async def test_a_plain_certificate_has_no_critical_options(adapters: Vault, tmp_path: Path) -> None:
    line = await adapters.ssh_sign(ed25519_key(), "deploy", timedelta(hours=8))
    assert "Critical Options: (none)" in listing(line, tmp_path)


async def test_the_ssh_role_refuses_other_keys_and_longer_lives(adapters: Vault) -> None:
    rsa = generate_private_key(65_537, 2_048).public_key()
    weak = rsa.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    hour = timedelta(hours=1)
    for key, principal, ttl in (
        (weak, "deploy", hour),
        ("FIXTURE-no-key", "deploy", hour),
        (ed25519_key(), "deploy", timedelta(hours=9)),
        (ed25519_key(), "deploy", timedelta(0)),
    ):
        with pytest.raises(VaultRefused) as caught:
            await adapters.ssh_sign(key, principal, ttl)
        assert "FIXTURE" not in str(caught.value)
        assert not caught.value.retryable


@pytest.mark.parametrize("principal", ["", "a,b", "*", "-oProxyCommand", "a b", "a\n"])
async def test_a_principal_is_one_user_name(adapters: Vault, principal: str) -> None:
    with pytest.raises(ValueError, match="not one user name"):
        await adapters.ssh_sign(ed25519_key(), principal, timedelta(hours=1))


@pytest.mark.parametrize("option", ["force_command", "source_address"])
async def test_an_empty_limit_is_refused_rather_than_dropped(adapters: Vault, option: str) -> None:
    limit: dict[str, Any] = {option: " "}
    with pytest.raises(ValueError, match="is empty"):
        await adapters.ssh_sign(ed25519_key(), "deploy", timedelta(hours=1), **limit)


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
async def test_the_role_itself_gives_no_certificate_for_everybody(
    engines: Engines, adapters: Vault, tmp_path: Path
) -> None:
    await adapters.ssh_ca_public_key()
    headers = {"X-Vault-Token": str(adapters._client.token)}
    async with httpx.AsyncClient(base_url=engines.bao_url, headers=headers) as http:
        answer = await http.post("/v1/ssh/sign/agent", json={"public_key": ed25519_key()})
    listed = listing(answer.json()["data"]["signed_key"].strip(), tmp_path)
    assert words_under(listed, "Principals:") == ["styx-nobody"]


def listing(line: str, folder: Path) -> str:
    path = folder / "key-cert.pub"
    path.write_text(line + "\n")
    done = subprocess.run(
        ["ssh-keygen", "-L", "-f", str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={"TZ": "UTC", "PATH": os.defpath},
    )
    return done.stdout


def fingerprint(path: Path) -> str:
    done = subprocess.run(
        ["ssh-keygen", "-l", "-f", str(path)], capture_output=True, text=True, check=True
    )
    return done.stdout.split()[1]


def words_under(listed: str, head: str) -> list[str]:
    """The indented lines below `head` in `ssh-keygen -L`."""
    lines = listed.splitlines()
    start = next(n for n, line in enumerate(lines) if line.strip() == head)
    depth = len(lines[start]) - len(lines[start].lstrip())
    found = []
    for line in lines[start + 1 :]:
        if len(line) - len(line.lstrip()) <= depth:
            break
        found.append(line.strip())
    return found


def lifetime(listed: str) -> timedelta:
    found = re.search(r"Valid: from (\S+) to (\S+)", listed)
    assert found
    start, end = (datetime.fromisoformat(f"{text}+00:00") for text in found.groups())
    return end - start
