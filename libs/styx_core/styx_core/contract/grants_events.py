"""What `grants` says happened. Pure."""

from typing import Literal

from pydantic import AwareDatetime

from styx_core.contract.base import Event


class TaskAdmitted(Event, owner="grants"):
    """A task may ask from now on."""

    agent: str
    person: str


class AccessRequested(Event, owner="grants"):
    """A task asked for access and a person must decide."""

    reason: str | None = None
    understood: str
    why: str


class GrantDecided(Event, owner="grants"):
    """A request was decided."""

    verdict: Literal["approve", "deny"]
    decided_by: str
    because: tuple[str, ...]
    why: str
    expires_at: AwareDatetime | None = None
    payload: str | None = None
    signature: str | None = None


class ApprovalGiven(Event, owner="grants"):
    """One approver of several said yes; the request waits for the others."""

    given: int
    quorum: int
    payload: str
    signature: str


class CredentialIssued(Event, owner="grants"):
    """A credential was minted; it leaves only after this is durable."""

    lease_id: str
    surface: str | None
    expires_at: AwareDatetime
    scoped: bool
    revocable: str
    handle: dict[str, str]


class CredentialRevoked(Event, owner="grants"):
    """A lease is over: what ending it could do at the provider."""

    lease_id: str
    outcome: str


class GrantUsed(Event, owner="grants"):
    """A live grant's credential went out for one call."""

    exec_id: str
    lease_id: str
    operation: str | None = None


class UseReported(Event, owner="grants"):
    """A wrapped command ended with this code."""

    exec_id: str
    exit_code: int


class GrantExtended(Event, owner="grants"):
    """A live grant may go on until then."""

    expires_at: AwareDatetime
    payload: str
    signature: str


class GrantEnded(Event, owner="grants"):
    """A grant left `active`, or a request `pending` undecided."""

    state: str
    why: str


class TargetSaved(Event, owner="grants"):
    """A target was connected or changed."""

    provider: str
    env: str
    label: str


class TargetHealthChanged(Event, owner="grants"):
    """A target's login was refused by its provider, or works again."""

    expired: bool
    detail: str


class PolicyChanged(Event, owner="grants"):
    """A project's rules were replaced."""

    rules: int
    sha256: str
