"""What an adapter is: the code that verifies, mints and ends credentials for one provider.

A provider is one module in `providers/` (or in a package with the entry point `styx.providers`)
with `PROVIDER`, its declaration, and `adapter(deps)`, its code. An adapter never seals, stores or
records: the handlers around it do, so it can't forget to.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

from styx_core.errors import Invalid
from styx_core.provider import Provider
from styx_core.revocable import Revocable
from styx_core.scope import Scopes
from styx_core.vault import Vault

from styx_adapters.api import Api
from styx_adapters.local_login import LocalLogin

Secret = Mapping[str, Any]
Config = Mapping[str, str]


@dataclass(frozen=True)
class Deps:
    """The edges that an adapter may use."""

    vault: Vault
    now: Callable[[], datetime]
    api: Api = field(default_factory=Api)
    login: LocalLogin | None = None
    """The logins of this machine's own CLIs; None where adapters run elsewhere."""
    issuer: str = ""
    """Where this Styx publishes the key of its own identity tokens (OpenID Connect)."""

    def local(self) -> LocalLogin:
        """This machine's logins. Raises `Invalid` where adapters run elsewhere."""
        if self.login is None:
            raise Invalid("method: this reads a login on the adapters' own machine only")
        return self.login


@dataclass(frozen=True)
class Connected:
    """A verified credential: what goes to Vault, and what may be shown."""

    secret: dict[str, Any] = field(repr=False)
    config: dict[str, str]
    label: str


@dataclass(frozen=True)
class Want:
    """What a credential is for: the narrower it is said, the narrower it can be minted.

    `surface` is the provider's service that the call belongs to and `operation` its one operation,
    where known; `command` holds the exact words of a this-command-once grant, else nothing.
    `until` is the grant's end: a credential may outlive it only where the provider has a minimum.
    """

    lease_id: str
    grant_id: str
    scopes: Scopes
    until: datetime | None
    surface: str | None = None
    operation: str | None = None
    once: bool = False
    command: tuple[str, ...] = ()
    public_key: str | None = None


@dataclass(frozen=True)
class Minted:
    """A credential, before it is sealed. `handle` is public: what `revoke` needs to know it by."""

    secret: dict[str, Any] = field(repr=False)
    expires_at: datetime
    scoped: bool
    revocable: Revocable
    handle: dict[str, str]


@dataclass(frozen=True)
class Ended:
    """What a revoke could do."""

    outcome: Revocable | Literal["failed"]
    detail: str


class Adapter(Protocol):
    """One provider's code. Errors: `LoginExpired` when our own credential is refused,
    `ProviderFailed` for anything that may pass, `Invalid` for what a person must correct."""

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Verify a credential with the provider."""
        ...

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """Mint the narrowest and shortest credential for this."""
        ...

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """End a minted credential as far as it can be ended."""
        ...

    async def health(self, secret: Secret, config: Config) -> str:
        """Who we are at the provider. Raises `LoginExpired` or `ProviderFailed`."""
        ...


@runtime_checkable
class Signer(Protocol):
    """An adapter with targets whose key never leaves Vault: it signs for them."""

    async def sign(self, secret: Secret, config: Config, data: bytes) -> bytes:
        """The raw signature of one login. Raises `Forbidden` for any other data."""
        ...


@dataclass(frozen=True)
class Installed:
    """A provider that started."""

    provider: Provider
    adapter: Adapter
