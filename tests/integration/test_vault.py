"""`styx_core.vault` on a real OpenBao that the embedded stack's own code started.

One server for the file; the tests that stop it start it again.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from styx_cli.engines import bao, binaries
from styx_cli.engines.run import Engines, running_engines
from styx_core import keyring, vault_bootstrap
from styx_core.vault import (
    NoSuchSecret,
    Vault,
    VaultSealed,
    VaultUnavailable,
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


def requests_logged(data: Path) -> list[dict[str, Any]]:
    lines = (data / "logs" / "bao-audit.log").read_text().splitlines()
    return [entry for line in lines if (entry := json.loads(line))["type"] == "request"]


def sign_ins(data: Path) -> int:
    paths = [entry["request"]["path"] for entry in requests_logged(data)]
    return paths.count("auth/approle/login")


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await condition():
            await asyncio.sleep(0.02)


async def test_a_credential_is_written_read_replaced_and_removed(adapters: Vault) -> None:
    path = "creds/aws-prod"
    await adapters.write(path, {"key": PLANTED, "n": 1})
    assert await adapters.read(path) == {"key": PLANTED, "n": 1}
    await adapters.write(path, {"key": "FIXTURE-second"})
    assert await adapters.read(path) == {"key": "FIXTURE-second"}
    await adapters.delete(path)
    with pytest.raises(NoSuchSecret):
        await adapters.read(path)
    await adapters.delete(path)


@pytest.mark.parametrize(
    "path", ["", "/creds/a", "creds/", "creds//a", "creds/../../sys/mounts", "creds/a?b", "creds/ä"]
)
async def test_a_path_that_would_leave_its_mount_is_refused(adapters: Vault, path: str) -> None:
    with pytest.raises(ValueError, match="not a path in Vault"):
        await adapters.read(path)
    with pytest.raises(ValueError, match="not a path in Vault"):
        await adapters.delete(path)


async def test_many_calls_at_once_share_the_pool_and_one_sign_in(
    engines: Engines, data: Path
) -> None:
    before = sign_ins(data)
    vault = sign_in(engines, "adapters", pool=4)
    await asyncio.gather(*(vault.write(f"creds/many-{n}", {"n": n}) for n in range(32)))
    found = await asyncio.gather(*(vault.read(f"creds/many-{n}") for n in range(32)))
    await vault.close()
    assert [secret["n"] for secret in found] == list(range(32))
    assert sign_ins(data) == before + 1


async def test_a_transit_signature_verifies_with_the_public_key_alone(audit: Vault) -> None:
    public = Ed25519PublicKey.from_public_bytes(await audit.transit_public_key("audit"))
    signature = await audit.transit_sign("audit", b"checkpoint")
    public.verify(signature, b"checkpoint")
    with pytest.raises(InvalidSignature):
        public.verify(signature, b"checkpoint!")


async def test_a_token_is_replaced_before_it_ends(engines: Engines, data: Path) -> None:
    now = 1000.0
    vault = sign_in(engines, "adapters", clock=lambda: now)
    await vault.write("creds/timed", {"n": 1})
    before = sign_ins(data)
    now += vault_bootstrap.TOKEN_TTL / 2
    await vault.read("creds/timed")
    assert sign_ins(data) == before
    now += vault_bootstrap.TOKEN_TTL / 4
    await vault.read("creds/timed")
    assert sign_ins(data) == before + 1
    await vault.close()


async def test_a_token_that_died_early_is_replaced(engines: Engines, data: Path) -> None:
    vault = sign_in(engines, "adapters")
    await vault.write("creds/again", {"n": 1})
    await vault._run("revoke", "auth/token/revoke-self", vault._post, {})
    found = await asyncio.gather(*(vault.read("creds/again") for _ in range(8)))
    assert found == [{"n": 1}] * 8
    await vault.close()


async def test_the_token_dies_with_the_client(engines: Engines) -> None:
    vault = sign_in(engines, "audit")
    await vault.transit_public_key("audit")
    token = vault._client.token
    await vault.close()
    async with httpx.AsyncClient(headers={"X-Vault-Token": token}) as http:
        answer = await http.get(f"{engines.bao_url}/v1/transit/keys/audit")
    assert answer.status_code == 403


async def test_a_server_that_never_answers_costs_the_time_out_only() -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        vault = Vault(f"http://127.0.0.1:{port}", "r", "FIXTURE-s", timeout=0.2)
        with pytest.raises(VaultUnavailable, match=r"Vault took over 0\.2 s|can't be reached"):
            await vault.read("creds/a")
        await vault.close()


async def test_a_restart_keeps_all_and_unseals_itself(
    engines: Engines, adapters: Vault, audit: Vault
) -> None:
    await adapters.write("creds/kept", {"key": PLANTED})
    ca = await adapters.ssh_ca_public_key()
    log_key = await audit.transit_public_key("audit")
    await engines.bao.stop()
    with pytest.raises(VaultUnavailable) as caught:
        await adapters.read("creds/kept")
    assert caught.value.retryable
    await engines.bao.start()
    assert await adapters.read("creds/kept") == {"key": PLANTED}
    assert await adapters.ssh_ca_public_key() == ca
    assert await audit.transit_public_key("audit") == log_key


async def test_a_killed_server_is_back_with_every_acknowledged_write(
    engines: Engines, adapters: Vault
) -> None:
    for n in range(20):
        await adapters.write(f"creds/acked-{n}", {"n": n})
    restarts = engines.bao.restarts
    os.kill(engines.bao.pid, signal.SIGKILL)

    async def back() -> bool:
        try:
            await adapters.read("creds/acked-0")
        except VaultUnavailable:
            return False
        return engines.bao.restarts == restarts + 1

    await until(back)
    for n in range(20):
        assert await adapters.read(f"creds/acked-{n}") == {"n": n}


async def test_without_its_key_the_server_stays_sealed(
    engines: Engines, data: Path, adapters: Vault
) -> None:
    """The same store, opened with another root key."""
    await adapters.write("creds/sealed", {"key": PLANTED})
    await engines.bao.stop()
    port = int(engines.bao_url.rpartition(":")[2])
    cluster = json.loads((data / "ports.json").read_text())["bao_cluster"]
    stranger = bao.child(binaries.find("bao"), data, b"\7" * 32, port, cluster)
    starting = asyncio.create_task(stranger.start())

    async def sealed() -> bool:
        try:
            await adapters.read("creds/sealed")
        except VaultSealed as error:
            return error.retryable
        except VaultUnavailable:
            return False
        raise AssertionError("opened without its key")

    try:
        await until(sealed)
    finally:
        starting.cancel()
        await asyncio.wait([starting])
        assert starting.cancelled()
    bao.child(binaries.find("bao"), data, engines.root, port, cluster)  # Its own configuration.
    await engines.bao.start()
    assert await adapters.read("creds/sealed") == {"key": PLANTED}
