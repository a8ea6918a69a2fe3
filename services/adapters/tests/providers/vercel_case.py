"""What the tests of Vercel share: an account being played, targets of it, and calls to it."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from adapter_fixture import MemoryVault
from conformance import Case, now
from styx_adapters.adapter import Deps, Minted, Want
from styx_adapters.api import Api
from styx_adapters.local_login import LocalLogin
from styx_adapters.playing import playing
from styx_adapters.providers import vercel
from styx_core.ids import new_id
from styx_core.scope import Scope
from vercel_server import VercelAccount

WRONG = "vcp_FIXTUREwrong00000000"


def wanted(*scopes: Scope, until: datetime | None = None, **more: Any) -> Want:
    """A use of a grant, of an hour unless told otherwise."""
    ids = {"lease_id": new_id("lse"), "grant_id": new_id("gnt")}
    end = until or now() + timedelta(hours=1)
    return Want(**ids, scopes=frozenset(scopes or (Scope.READ,)), until=end, surface=None, **more)


@dataclass(frozen=True)
class Played:
    """An account, where it answers, and a place that takes calls and never does."""

    account: VercelAccount
    url: str
    silent: str

    def case(self, secret: dict[str, str], api: Api, **config: str) -> Case:
        """A target of it that is connected by a token."""
        deps: Any = Deps(MemoryVault(), now, api)  # type: ignore[arg-type]
        return Case(
            provider=vercel.PROVIDER,
            adapter=vercel.adapter(deps),
            method="token",
            config={"api": self.url, **config},
            secret=secret,
            want=wanted(),
            shortest=timedelta(0),
            refused={"secret": {"token": WRONG}},
            silent={"api": self.silent},
        )

    def local(
        self, home: Path, api: Api, environ: Mapping[str, str] | None = None, **config: str
    ) -> Case:
        """A target of it that uses the CLI's login below `home`."""
        login = LocalLogin(home, environ or {})
        deps: Any = Deps(MemoryVault(), now, api, login)  # type: ignore[arg-type]
        return Case(
            provider=vercel.PROVIDER,
            adapter=vercel.adapter(deps),
            method="cli",
            config={"api": self.url, "account": "jane", **config},
            secret={},
            want=wanted(),
            shortest=timedelta(0),
            refused={"config": {"account": "somebody-else"}},
            silent={"api": self.silent},
            hands_on=True,
            local_machine=True,
        )

    def status(self, minted: Minted, method: str, path: str, **body: Any) -> int:
        """What the API answers to this call with what was issued."""
        token = minted.secret["env"]["VERCEL_TOKEN"]
        headers = {"authorization": f"Bearer {token}"}
        with httpx.Client(trust_env=False) as client:
            sent = {"json": body} if body else {}
            return client.request(method, self.url + path, headers=headers, **sent).status_code


@contextmanager
def vercel_account() -> Iterator[Played]:
    """Play an account until the block ends."""
    account = VercelAccount(now)
    with playing(account.answer) as url, socket.create_server(("127.0.0.1", 0)) as server:
        yield Played(account, url, f"http://127.0.0.1:{server.getsockname()[1]}")
