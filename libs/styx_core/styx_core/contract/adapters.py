"""What `adapters` is asked. Its only state is in Vault, so it says no events of its own. Pure."""

from typing import Literal

from pydantic import AwareDatetime

from styx_core.contract.base import Command, Message
from styx_core.contract.grants import Sealed
from styx_core.contract.values import (
    Base64,
    HealthAnswer,
    Id,
    Line,
    Name,
    Signature,
    Words,
)
from styx_core.revocable import Revocable
from styx_core.scope import Scope


class Connection(Message):
    """A stored credential, by reference, and what may be shown of it."""

    credential_ref: str
    config: dict[str, str]
    label: str


class Connect(Command[Connection], owner="adapters", by=("broker",), deadline=20.0):
    """Verify a credential with its provider, then store it in Vault."""

    target_id: Id
    provider: Name
    method: Name
    config: dict[str, str]
    box: str | None = None


class Issued(Message):
    """A minted (or reused) credential, sealed, and the public handle that a revoke needs."""

    sealed: Sealed
    fresh: bool
    handle: dict[str, str]


class Issue(Command[Issued], owner="adapters", by=("grants",), deadline=6.0):
    """Mint the narrowest credential for this use of a grant."""

    lease_id: Id
    grant_id: Id
    exec_id: Id
    provider: Name
    credential_ref: Line
    config: dict[str, str]
    scopes: tuple[Scope, ...]
    surface: Line | None = None
    operation: Line | None = None
    once: bool = False
    command: Words = ()
    expires_at: AwareDatetime | None
    edge_key: str
    public_key: str | None = None


class Revoked(Message):
    """What ending a lease did."""

    outcome: Revocable | Literal["failed"]
    detail: str


class RevokeLease(Command[Revoked], owner="adapters", by=("grants",), deadline=6.0):
    """End a lease at its provider as far as it can be ended."""

    lease_id: Id
    grant_id: Id
    provider: Name
    credential_ref: Line
    config: dict[str, str]
    handle: dict[str, str]


class SignChallenge(Command[Signature], owner="adapters", by=("grants",), deadline=6.0):
    """Sign one login with a target's stored key, which stays where it is."""

    provider: Name
    credential_ref: Line
    config: dict[str, str]
    data: Base64


class CheckHealth(Command[HealthAnswer], owner="adapters", by=("grants",), deadline=20.0):
    """Try the target's own credential against its provider."""

    provider: Name
    credential_ref: Line
    config: dict[str, str]
