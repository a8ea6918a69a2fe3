"""Values that several messages share: shapes of names, what a grant or target looks like. Pure."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Discriminator, Field, StringConstraints, Tag

from styx_core.contract.base import Message
from styx_core.scope import Scope

Id = Annotated[str, StringConstraints(pattern=r"^[a-z]{3}_[0-9a-hjkmnp-tv-z]{26}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$")]
Line = Annotated[str, StringConstraints(max_length=2000)]
Word = Annotated[str, StringConstraints(max_length=131_072)]
Words = tuple[Word, ...]
Base64 = Annotated[str, StringConstraints(max_length=32_768, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]
Env = Literal["prod", "staging", "preview", "scm"]
Duration = Literal["once", "15m", "1h", "8h", "task", "always"]


Base64Url = Annotated[str, StringConstraints(max_length=16_384, pattern=r"^[A-Za-z0-9_-]*$")]
Nonce = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
"""Random, by whoever signs: the same can be signed again, and no signature played again."""
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Role = Literal["owner", "approver", "member", "auditor"]
"""What a person may do in a project: all; decide; run agents; only look, the audit log too."""


class Registration(Message):
    """A new passkey, as the browser made it (WebAuthn, AuthenticatorAttestationResponse)."""

    label: Line
    client_data: Base64Url
    attestation_object: Base64Url


class Assertion(Message):
    """A passkey's signature (WebAuthn, AuthenticatorAssertionResponse)."""

    credential_id: Base64Url
    client_data: Base64Url
    authenticator_data: Base64Url
    signature: Base64Url


class SessionSignature(Message):
    """A signature by the key that one web session made for itself: ECDSA P-256 over SHA-256."""

    session: Sha256
    signature: Base64Url


class Batch(Message):
    """One touch for several decisions: a passkey's signature over the hashes of their payloads."""

    each: Annotated[tuple[Sha256, ...], Field(min_length=1, max_length=100)]
    signature: Assertion


def _kind_of_proof(value: object) -> str:
    if isinstance(value, Batch) or (isinstance(value, dict) and "each" in value):
        return "batch"
    if isinstance(value, Assertion) or (isinstance(value, dict) and "credential_id" in value):
        return "passkey"
    return "session" if isinstance(value, dict | SessionSignature) else "terminal"


Proof = Annotated[
    Annotated[str, StringConstraints(max_length=200), Tag("terminal")]
    | Annotated[Assertion, Tag("passkey")]
    | Annotated[Batch, Tag("batch")]
    | Annotated[SessionSignature, Tag("session")],
    Discriminator(_kind_of_proof),
]
"""Who signed a payload of `signing`: a terminal's key (base64), a passkey (for one or for several),
or a web session."""


class GrantView(Message):
    """A grant as people see it."""

    id: str
    project_id: str
    task_id: str | None
    agent: str
    person: str
    target: str
    provider: str
    env: str
    scopes: tuple[Scope, ...]
    state: str
    reason: str | None
    command: Words
    understood: str
    why: str
    because: tuple[str, ...]
    decided_by: str | None
    decided_person: str | None
    duration: str | None
    mfa: bool
    created_at: AwareDatetime
    decided_at: AwareDatetime | None
    expires_at: AwareDatetime | None
    ended_at: AwareDatetime | None
    end_why: str | None
    leases: int
    revocable: str | None
    worktree: str | None = None
    branch: str | None = None
    extended_at: AwareDatetime | None = None
    quorum: int = 1
    approved_by: tuple[str, ...] = ()
    """Who has said yes so far, where several must."""


class TargetView(Message):
    """A target as people and agents see it; nothing here is secret."""

    id: str
    project_id: str
    name: str
    provider: str
    env: str
    label: str
    config: dict[str, str]
    lock_state: Literal["unconnected", "expired", "persistent", "open", "locked"]
    scopes: tuple[Scope, ...] = ()


class HealthAnswer(Message):
    """Whether the target's own credential still works; `expired` only for a real refusal."""

    ok: bool
    expired: bool
    detail: str


class Signature(Message):
    """A raw Ed25519 signature, base64."""

    signature: str
