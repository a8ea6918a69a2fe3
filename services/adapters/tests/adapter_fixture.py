"""A made-up provider as one file, and a stub of an adapter."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from styx_adapters.adapter import Config, Connected, Ended, Installed, Minted, Secret, Want
from styx_adapters.handlers import State
from styx_adapters.leases import Leases
from styx_adapters.testing import MemoryVault
from styx_core.contract.adapters import Issue
from styx_core.ids import new_id
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope
from styx_core.seal import OpeningKey
from styx_core.tool import Tool

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)

ACME = '''
"""A made-up provider, whole in one file."""

from styx_adapters.adapter import Connected, Ended, Minted
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope
from styx_core.secret_shape import SecretShape
from styx_core.tool import Tool

PROVIDER = Provider(
    id="{name}",
    label="{label}",
    tools=(Tool(name="{name}", version="1.0", total=2, read=("list",), delete=("rm",)),),
    scopes=(Scope.READ, Scope.DELETE),
    narrows=(Scope.READ,),
    env=("{label}_TOKEN",),
    strip=("{label}_PROFILE",),
    quiet={{"{label}_PROMPT": "off"}},
    shapes=(SecretShape("{name}-token", ("{name}_tok_",), "word", 16),),
    methods=(
        Method("token", "A token", (
            Field("region", "region", pattern="[a-z]+"),
            Field("token", "token", secret=True, pattern="{name}_tok_[A-Za-z0-9_-]+"),
        )),
    ),
)


def adapter(deps):
    return object()
'''
"""`ACME.format(name="acme", label="ACME")` is a module of a provider."""


STUB = Provider(
    id="stub",
    label="Stub",
    tools=(Tool(name="stub", read=("list",)),),
    scopes=(Scope.READ,),
    env=("STUB_TOKEN",),
    methods=(
        Method(
            "token",
            "A token",
            (
                Field("place", "place", pattern="[a-z]+"),
                Field("level", "level", pattern="[0-9]", default="1", required=False),
                Field("token", "token", secret=True, pattern="FIXTURE-[a-z0-9-]+"),
            ),
        ),
        Method("login", "The CLI's own login", (), local=True),
    ),
)


@dataclass
class StubAdapter:
    """Mints numbered tokens; `trouble` is raised instead. `gate` holds a minting back."""

    now: datetime = NOW
    trouble: Exception | None = None
    gate: asyncio.Event | None = None
    wanted: list[Want] = field(default_factory=list)
    ended: list[Mapping[str, str]] = field(default_factory=list)
    certificate: bool = False

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Take it."""
        self._check()
        return Connected(dict(secret), dict(config), "a stub")

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """Mint."""
        self.wanted.append(want)
        if self.gate is not None:
            await self.gate.wait()
        self._check()
        text = f"FIXTURE-minted-{len(self.wanted)}"
        made: dict[str, Any] = {"env": {"STUB_TOKEN": text}}
        if self.certificate:
            made = {"certificate": text, "env": {}}
        return Minted(made, self.now + HOUR, True, "hard", {"number": str(len(self.wanted))})

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """End."""
        self._check()
        self.ended.append(handle)
        return Ended("hard", "gone")

    async def health(self, secret: Secret, config: Config) -> str:
        """Who."""
        self._check()
        return "a stub"

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble


def state(adapter: StubAdapter, vault: MemoryVault, **more: Any) -> State:
    """The handlers' state with the stub alone."""
    given: dict[str, Any] = {
        "installed": {"stub": Installed(STUB, adapter)},
        "disabled": {"broken": "ImportError: no such thing"},
        "key": OpeningKey.make(),
        "leases": Leases(lambda: adapter.now),
        "local_machine": False,
        "now": lambda: adapter.now,
    }
    return State(vault, **(given | more))  # type: ignore[arg-type]


def issue_command(key: OpeningKey, **more: Any) -> Issue:
    """One use of a grant; its edge has this key."""
    given: dict[str, Any] = {
        "lease_id": new_id("lse"),
        "grant_id": new_id("gnt"),
        "exec_id": new_id("exe"),
        "provider": "stub",
        "credential_ref": "creds/stub/tgt",
        "config": {"place": "here"},
        "scopes": (Scope.READ,),
        "expires_at": NOW + HOUR,
        "edge_key": key.public,
    }
    return Issue(**(given | more))
