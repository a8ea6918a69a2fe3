"""A stored SSH key with a real OpenBao and a real sshd: it signs its logins and never leaves."""

import json
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from conformance import Case, Conformance, held, now
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from styx_adapters import ssh_login, ssh_stored
from styx_adapters.adapter import Deps, Want
from styx_adapters.handlers import sign_challenge
from styx_adapters.providers import ssh
from styx_cli.testing_ssh import SshHost
from styx_core.contract.adapters import SignChallenge
from styx_core.errors import Forbidden, Invalid
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import Vault
from vault_fixture import vault

__all__ = ["vault"]

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing() or "-"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the keys lie: the target's own, and one that no host knows."""
    place = tmp_path_factory.mktemp("keys")
    for name in ("mine", "other"):
        words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(place / name))
        subprocess.run(words, check=True)
    return place


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SshHost]:
    """A host with the key in its login's authorized_keys."""
    place = tmp_path_factory.mktemp("host")
    with SshHost(place, key=(folder / "mine.pub").read_text().strip()) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def case(
    vault: Vault, host: SshHost, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Case]:
    """The host as a target."""
    monkeypatch.setattr(ssh_login, "CONNECT_SECONDS", 3.0)
    until = now() + timedelta(hours=1)
    yield Case(
        provider=ssh.PROVIDER,
        adapter=ssh.adapter(Deps(vault, now)),
        method="key",
        config={"host": "127.0.0.1", "port": str(host.port), "user": host.user},
        secret={"private_key": (folder / "mine").read_text()},
        want=Want(new_id("lse"), new_id("grt"), frozenset({Scope.WRITE}), until),
        shortest=timedelta(seconds=1),
        refused={"config": {"user": "nobody" if host.user != "nobody" else "daemon"}},
        silent={"port": "1"},
        unkept=("private_key",),
    )


class TestSshStored(Conformance):
    """Held to what every provider is."""


async def test_what_is_kept_is_the_keys_name_and_its_public_half(case: Case, folder: Path) -> None:
    state = case.state()
    shown = await case.connected(state, new_id("tgt"))
    entry = held(state)[shown.credential_ref]
    assert entry.keys() == {"key", "public", "method"}
    assert entry["public"] == (folder / "mine.pub").read_text().strip()
    minted = await case.adapter.issue(entry, shown.config, case.want)
    assert minted.secret == {"identity": entry["public"], "env": {}}
    assert (minted.scoped, minted.revocable) == (False, "hard")
    assert "PRIVATE" not in json.dumps([entry, minted.secret, shown.model_dump()])


async def test_it_signs_no_text_but_a_login(case: Case) -> None:
    state = case.state()
    shown = await case.connected(state, new_id("tgt"))
    ask = SignChallenge(
        provider="ssh",
        credential_ref=shown.credential_ref,
        config=shown.config,
        data="U1NIU0lH",
    )
    with pytest.raises(Forbidden, match="logins to its own target only"):
        await sign_challenge(ask, state)
    with pytest.raises(Invalid, match="data: not base64"):
        await sign_challenge(ask.model_copy(update={"data": "A"}), state)


async def test_a_target_of_the_ca_signs_nothing(case: Case) -> None:
    with pytest.raises(Invalid, match="nothing is signed here"):
        await case.adapter.sign({"kind": "ca"}, case.config, b"")  # type: ignore[attr-defined]


async def test_a_key_that_the_host_does_not_know_is_not_kept(case: Case, folder: Path) -> None:
    from styx_core.errors import LoginExpired

    state = case.state()
    secret = {"private_key": (folder / "other").read_text()}
    with pytest.raises(LoginExpired, match="authorized_keys"):
        await case.connected(state, new_id("tgt"), secret=secret)
    assert held(state) == {}


async def test_a_key_of_another_kind_is_refused_and_not_quoted(case: Case) -> None:
    key = rsa.generate_private_key(65537, 2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with pytest.raises(Invalid, match="Ed25519") as told:
        await replace(case, secret={"private_key": text}).connected(case.state(), new_id("tgt"))
    assert text[40:80] not in told.value.detail
    with pytest.raises(Invalid, match="private_key"):
        await ssh_stored.bring_in(None, {}, "-----BEGIN PRIVATE KEY-----")  # type: ignore[arg-type]
