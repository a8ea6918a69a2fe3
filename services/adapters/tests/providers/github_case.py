"""What the tests of GitHub share: a server being played, targets of it, and calls to it."""

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from conformance import Case, now
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from github_server import GithubServer, Installation
from styx_adapters.adapter import Adapter, Connected, Deps, Minted, Want
from styx_adapters.api import Api
from styx_adapters.playing import playing
from styx_adapters.providers import github
from styx_cli.engines.run import running_engines
from styx_core import keyring, vault_bootstrap
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import Vault

APP, OTHER_APP, INSTALLATION = "1001", "1002", "42"


@cache
def key(name: str) -> rsa.RSAPrivateKey:
    """An App's key."""
    return rsa.generate_private_key(65537, 2048)


def pem(name: str) -> str:
    """It as GitHub gives it: PKCS #1 in PEM."""
    form = PrivateFormat.TraditionalOpenSSL
    return key(name).private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def wanted(*scopes: Scope, **more: Any) -> Want:
    """A use of a grant of an hour."""
    until = now() + timedelta(hours=1)
    ids = {"lease_id": new_id("lse"), "grant_id": new_id("gnt")}
    scopes = scopes or (Scope.READ,)
    return Want(**{**ids, "scopes": frozenset(scopes), "until": until, "surface": "issue", **more})


@dataclass(frozen=True)
class Played:
    """A server, where it answers, and a place that takes calls and never does."""

    server: GithubServer
    url: str
    silent: str

    def case(self, adapter: Adapter, **more: Any) -> Case:
        """A target that is connected by an App, unless told otherwise."""
        given: dict[str, Any] = {
            "method": "app",
            "config": {
                "api": self.url,
                "app_id": APP,
                "installation_id": INSTALLATION,
                "repositories": "web,api",
            },
            "secret": {"private_key": pem(APP)},
            "shortest": timedelta(hours=1),
            "refused": {"config": {"app_id": OTHER_APP}},
            "unkept": ("private_key",),
        }
        common: dict[str, Any] = {
            "provider": github.PROVIDER,
            "adapter": adapter,
            "want": wanted(),
            "silent": {"api": self.silent},
        }
        return Case(**common, **(given | more))

    def status(self, minted: Minted, method: str, path: str, body: Any = None) -> int:
        """What GitHub answers to this call with what was issued."""
        headers = {"authorization": f"Bearer {bearer(minted)}"}
        with httpx.Client(trust_env=False) as client:
            return client.request(method, self.url + path, headers=headers, json=body).status_code


def bearer(minted: Minted) -> str:
    """The token that was issued, for a server that isn't github.com."""
    return str(minted.secret["env"]["GH_ENTERPRISE_TOKEN"])


async def connected(case: Case, **config: str) -> Connected:
    """The target, connected."""
    config = {**case.config, **config}
    return await case.adapter.connect("app", new_id("tgt"), config, case.secret)


async def issued(case: Case, to: Connected, *scopes: Scope) -> Minted:
    """A credential for it."""
    return await case.adapter.issue(to.secret, to.config, wanted(*scopes))


@contextmanager
def github_server() -> Iterator[Played]:
    """Play an Enterprise Server until the block ends."""
    apps = {name: key(name).public_key() for name in (APP, OTHER_APP)}
    server = GithubServer(now, apps, {INSTALLATION: Installation(APP)})
    with playing(server.answer) as url, socket.create_server(("127.0.0.1", 0)) as nobody:
        silent = f"http://127.0.0.1:{nobody.getsockname()[1]}/api/v3"
        yield Played(server, f"{url}/api/v3", silent)


@asynccontextmanager
async def vault_and_api(folder: Path) -> AsyncIterator[Deps]:
    """A real OpenBao, as `adapters` signs in to it, and little patience with GitHub.

    Much with OpenBao: it makes its wrapping key, RSA of 4096 bits, when it is first asked for it.
    """
    async with running_engines(folder / "data") as engines:
        secret = keyring.secret_id(engines.root, "adapters")
        role = vault_bootstrap.role_id("adapters")
        vault, api = Vault(engines.bao_url, role, secret, timeout=60), Api(answer_seconds=0.5)
        yield Deps(vault, now, api)
        await vault.close()
        await api.close()
