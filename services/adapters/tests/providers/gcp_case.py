"""What the tests of Google Cloud share: a project being played, targets of it, and calls to it."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import httpx
from adapter_fixture import MemoryVault
from conformance import Case, now
from gcp_server import GoogleCloud, Trust
from styx_adapters import identity
from styx_adapters.adapter import Adapter, Deps, Minted, Want
from styx_adapters.api import Api
from styx_adapters.playing import playing
from styx_adapters.providers import gcp
from styx_core import vault_rsa
from styx_core.ids import new_id
from styx_core.scope import Scope

ISSUER = "https://styx.example"
TARGET = new_id("tgt")
PROJECT = "acme-prod"
DEPLOYER = "deployer@acme-prod.iam.gserviceaccount.com"
OTHER = "other@acme-prod.iam.gserviceaccount.com"
PROVIDER = "projects/12345/locations/global/workloadIdentityPools/agents/providers/styx"


def wanted(*scopes: Scope, until: datetime | None = None, **more: Any) -> Want:
    """A use of a grant, of an hour unless told otherwise."""
    ids = {"lease_id": new_id("lse"), "grant_id": new_id("gnt")}
    end = until or now() + timedelta(hours=1)
    about = {"surface": "storage", **more}
    return Want(**ids, scopes=frozenset(scopes or (Scope.READ,)), until=end, **about)


def once(*scopes: Scope, command: str) -> Want:
    """A use of a this-command-once grant of `gcloud storage …`."""
    words = ("gcloud", "storage", *command.split())
    return wanted(*scopes, once=True, command=words)


@dataclass(frozen=True)
class Played:
    """A project, where it answers, a place that never does, and where Styx's own key is."""

    cloud: GoogleCloud
    url: str
    silent: str
    vault: MemoryVault

    def adapter(self, **more: Any) -> Adapter:
        """The provider, patient for a short while only."""
        given = {"api": Api(answer_seconds=1.0), "issuer": ISSUER, "vault": self.vault, "now": now}
        return gcp.adapter(Deps(**{**given, **more}))

    def case(self, method: str, adapter: Adapter, **more: Any) -> Case:
        """A target that is connected so; `config` adds to what every method needs."""
        given: dict[str, Any] = {"secret": {}, "config": {}, "refused": {}, **more}
        return Case(
            provider=gcp.PROVIDER,
            adapter=adapter,
            method=method,
            want=wanted(),
            shortest=timedelta(seconds=1),
            silent={"endpoint": self.silent},
            **{**given, "config": {"project": PROJECT, "endpoint": self.url, **given["config"]}},
        )

    def status(self, minted: Minted, method: str, path: str, **body: Any) -> int:
        """What Google answers to this call with what was issued."""
        headers = {"authorization": f"Bearer {token(minted)}"}
        sent = {"json": body} if body else {}
        with httpx.Client(trust_env=False) as client:
            return client.request(method, self.url + path, headers=headers, **sent).status_code


def token(minted: Minted) -> str:
    """The token that was issued."""
    return str(minted.secret["env"]["CLOUDSDK_AUTH_ACCESS_TOKEN"])


@contextmanager
def google_cloud() -> Iterator[Played]:
    """Play a project until the block ends; its provider trusts Styx's identity for one target."""
    vault: Any = MemoryVault()
    asyncio.run(vault_rsa.make(vault, identity.KEY))
    jwk = asyncio.run(vault_rsa.public_jwk(vault, identity.KEY))
    cloud = GoogleCloud(now, Trust(jwk, ISSUER, f"//iam.googleapis.com/{PROVIDER}"))
    cloud.creators[DEPLOYER] = {f"principal:{identity.subject(TARGET)}"}
    with playing(cloud.answer) as url, socket.create_server(("127.0.0.1", 0)) as server:
        yield Played(cloud, url, f"http://127.0.0.1:{server.getsockname()[1]}", vault)
