"""SSH with a real OpenBao's CA and a real sshd: what a certificate opens, and what it doesn't."""

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncssh
import pytest
import pytest_asyncio
from conformance import Case, Conformance, now
from styx_adapters import ssh_login
from styx_adapters.adapter import Config, Deps, Want
from styx_adapters.providers import ssh
from styx_cli.engines.run import running_engines
from styx_cli.testing_ssh import SshHost
from styx_core import keyring, vault_bootstrap
from styx_core.errors import Invalid, LoginExpired
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import Vault

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing() or "-"),
]

TARGET, OTHER = new_id("tgt"), new_id("tgt")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vault(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Vault]:
    """The adapters' own way into a real OpenBao."""
    data = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data) as engines:
        secret = keyring.secret_id(engines.root, "adapters")
        made = Vault(engines.bao_url, vault_bootstrap.role_id("adapters"), secret)
        yield made
        await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def host(vault: Vault, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SshHost]:
    """A host that trusts that CA, and admits the principal of one target."""
    folder = tmp_path_factory.mktemp("host")
    with SshHost(folder, await vault.ssh_ca_public_key(), TARGET) as running:
        yield running


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """A port that takes a call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


@pytest_asyncio.fixture(loop_scope="module")
async def case(
    vault: Vault, host: SshHost, silent: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Case]:
    """The host as a target."""
    monkeypatch.setattr(ssh_login, "CONNECT_SECONDS", 3.0)
    nobody = "nobody" if host.user != "nobody" else "daemon"
    yield Case(
        provider=ssh.PROVIDER,
        adapter=ssh.adapter(Deps(vault, now)),
        method="ca",
        config={
            "host": "127.0.0.1",
            "port": str(host.port),
            "user": host.user,
            "source": "127.0.0.0/8",
        },
        secret={},
        want=wanted(Key().public),
        shortest=timedelta(seconds=1),
        refused={"config": {"user": nobody}},
        silent={"port": silent},
    )


class TestSsh(Conformance):
    """Held to what every provider is."""

    target = TARGET


class Key:
    """A key as the agent's machine makes it."""

    def __init__(self) -> None:
        self.private = asyncssh.generate_private_key("ssh-ed25519")
        self.public = self.private.export_public_key().decode().strip()


def wanted(public_key: str, seconds: float = 3600, **more: Any) -> Want:
    """A use of a grant."""
    return Want(
        lease_id=new_id("lse"),
        grant_id=new_id("gnt"),
        scopes=frozenset({Scope.WRITE, Scope.DELETE}),
        until=now() + timedelta(seconds=seconds),
        public_key=public_key,
        **more,
    )


def configured(case: Case, principal: str = TARGET, **more: str) -> Config:
    """The target's config, as connecting made it."""
    return {**case.config, "principal": principal, **more}


async def certified(case: Case, key: Key, config: Config, **more: Any) -> str:
    """The certificate that is issued for this key."""
    minted = await case.adapter.issue({}, config, wanted(key.public, **more))
    return str(minted.secret["certificate"])


async def run(host: SshHost, key: Key, certificate: str, command: str) -> str:
    """What the host answers to a command, logged in with this certificate."""
    async with asyncssh.connect(
        "127.0.0.1",
        host.port,
        username=host.user,
        client_keys=[(key.private, asyncssh.import_certificate(certificate))],
        known_hosts=None,
        agent_path=None,
        config=None,
    ) as connection:
        return str((await connection.run(command)).stdout).strip()


async def opens(host: SshHost, key: Key, certificate: str) -> bool:
    """Whether the host lets this certificate in."""
    try:
        return await run(host, key, certificate, "echo in") == "in"
    except (asyncssh.PermissionDenied, asyncssh.ConnectionLost):
        return False


async def test_a_certificate_opens_its_target_and_no_other(case: Case, host: SshHost) -> None:
    key = Key()
    assert await run(host, key, await certified(case, key, configured(case)), "echo in") == "in"
    assert not await opens(host, key, await certified(case, key, configured(case, OTHER)))


async def test_a_target_is_connected_by_its_own_principal_alone(case: Case) -> None:
    with pytest.raises(LoginExpired, match=f"{OTHER} in AuthorizedPrincipalsFile"):
        await case.adapter.connect("ca", OTHER, case.config, {})
    connected = await case.adapter.connect("ca", TARGET, case.config, {})
    assert connected.config["principal"] == TARGET


async def test_a_grant_for_one_command_runs_that_command_whatever_is_asked(
    case: Case, host: SshHost
) -> None:
    key = Key()
    words = ("ssh", "-l", host.user, "web", "echo", "only   this", "$((20 + 1))")
    minted = await case.adapter.issue(
        {}, configured(case), wanted(key.public, once=True, command=words)
    )
    assert minted.scoped
    certificate = minted.secret["certificate"]
    for asked in ("echo something else", "id", "echo only this"):
        assert await run(host, key, certificate, asked) == "only this 21"


@pytest.mark.parametrize("words", [(), ("ssh", "web"), ("ssh", "web", " "), ("ssh",)])
async def test_a_call_that_can_not_be_held_to_its_command_gets_nothing(
    case: Case, words: tuple[str, ...]
) -> None:
    want = wanted(Key().public, once=True, command=words)
    with pytest.raises(Invalid, match="can't be held to it"):
        await case.adapter.issue({}, configured(case), want)


async def test_without_a_key_of_the_agents_own_there_is_no_certificate(case: Case) -> None:
    want = replace(wanted(""), public_key=None)
    with pytest.raises(Invalid, match="public_key: SSH needs a key"):
        await case.adapter.issue({}, configured(case), want)


async def test_a_certificate_dies_with_its_grant(case: Case, host: SshHost) -> None:
    key = Key()
    certificate = await certified(case, key, configured(case), seconds=2.5)
    assert await run(host, key, certificate, "echo in") == "in"
    async with asyncio.timeout(10):
        while await opens(host, key, certificate):
            await asyncio.sleep(0.05)


async def test_a_certificate_is_good_from_the_targets_sources_only(
    case: Case, host: SshHost
) -> None:
    key = Key()
    for source, admitted in (("127.0.0.1/32,10.0.0.0/8", True), ("10.0.0.0/8", False)):
        certificate = await certified(case, key, configured(case, source=source))
        assert await opens(host, key, certificate) is admitted


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
async def test_the_hosts_log_names_grant_and_lease(case: Case, host: SshHost) -> None:
    key = Key()
    minted = await case.adapter.issue({}, configured(case), wanted(key.public))
    await run(host, key, minted.secret["certificate"], "true")
    assert minted.handle["key_id"] in Path(host.folder, "sshd.log").read_text()


@pytest.mark.parametrize(
    "key",
    ["", "ssh-ed25519", "ssh-ed25519 AAAA", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQA=", "\n", "x"],
)
async def test_what_is_no_ed25519_key_is_refused(case: Case, key: str) -> None:
    state = case.state()
    from adapter_fixture import issue_command
    from styx_adapters.handlers import issue
    from styx_core.errors import StyxError
    from styx_core.seal import OpeningKey

    await case.connected(state, TARGET)
    command = issue_command(
        OpeningKey.make(),
        provider="ssh",
        credential_ref=f"creds/ssh/{TARGET}",
        config=dict(configured(case)),
        public_key=key,
    )
    with pytest.raises(StyxError):
        await issue(command, state)
