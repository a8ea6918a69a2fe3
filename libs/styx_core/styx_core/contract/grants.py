"""What `grants` is asked. Pure."""

from typing import Literal

from pydantic import AwareDatetime, Field

from styx_core.contract.base import Command, Done, Message
from styx_core.contract.values import (
    Base64,
    Duration,
    Env,
    GrantView,
    HealthAnswer,
    Id,
    Line,
    Name,
    Nonce,
    Proof,
    Signature,
    TargetView,
    Words,
)
from styx_core.revocable import Revocable
from styx_core.scope import Scope

EDGES = ("broker", "mcp-gateway")


class Offer(Message):
    """What a task would have at once instead of what was denied: it need only ask for it."""

    target: Line
    scopes: tuple[Scope, ...] = Field(min_length=1)
    duration: Literal["15m", "1h", "8h", "task"] = "1h"


class Access(Message):
    """Where a request stands. A caller whose wait ended is `pending`, never `denied`."""

    status: Literal["active", "pending", "denied", "ended"]
    grant_id: str
    scopes: tuple[Scope, ...]
    target: str
    why: str
    because: tuple[str, ...] = ()
    decided_by: str | None = None
    expires_at: AwareDatetime | None = None
    queue_position: int | None = None
    instead: Offer | None = Field(None, description="denied: what asking for just that would get")


class Sealed(Message):
    """A credential that only the edge which asked can open (HPKE, RFC 9180)."""

    lease_id: str
    kind: Literal["env", "ssh-agent"]
    box: str = Field(description="base64 of the sealed JSON")
    expires_at: AwareDatetime
    scoped: bool
    revocable: Revocable


class Authorized(Message):
    """The answer to a call at an edge: where the request stands and, if active, its credential."""

    access: Access
    sealed: Sealed | None = None


class AdmitTask(Command[Done], owner="grants", by=("broker",)):
    """A task began: from now on its calls are decided by the row this makes."""

    task_id: Id
    project_id: Id
    agent: Name
    person: Name
    worktree: Line | None = None
    branch: Line | None = None


class RetireTask(Command[Done], owner="grants", by=("broker",), deadline=15.0):
    """A task ended: so do all its grants and requests."""

    task_id: Id


class Authorize(Command[Authorized], owner="grants", by=("broker",), deadline=8.0):
    """One call caught by a shim: decide, and issue if it may go ahead."""

    task_id: Id
    exec_id: Id
    provider: Name
    target: Line | None = None
    scopes: tuple[Scope, ...]
    surface: Line | None = None
    operation: Line | None = None
    host: Line | None = None
    command: Words
    command_digest: str
    exact: bool = Field(description="redaction changed nothing in the command")
    understood: Line
    edge_key: str
    public_key: str | None = None
    grant_id: Id | None = None


class RequestAccess(Command[Access], owner="grants", by=("mcp-gateway",), deadline=3.0):
    """An agent asks ahead of its call."""

    task_id: Id
    target: Line
    scopes: tuple[Scope, ...] = Field(min_length=1)
    reason: Line
    command: Words = ()
    command_digest: str | None = None
    exact: bool = False
    surface: Line | None = None
    operation: Line | None = None
    understood: Line = ""
    duration: Duration | None = None


class CheckGrant(Command[Access], owner="grants", by=EDGES):
    """Where does this request stand now?"""

    task_id: Id
    grant_id: Id


class GetCredential(Command[Authorized], owner="grants", by=("mcp-gateway",), deadline=8.0):
    """The credential of a live grant, for direct calls of a provider's API."""

    task_id: Id
    grant_id: Id
    exec_id: Id
    edge_key: str
    public_key: str | None = None


class SignLogin(Command[Signature], owner="grants", by=("broker",), deadline=8.0):
    """Sign one login for a call that is under way, with its target's stored key."""

    task_id: Id
    exec_id: Id
    data: Base64


class ReportUse(Command[Done], owner="grants", by=("broker",)):
    """A wrapped command ended."""

    task_id: Id
    exec_id: Id
    exit_code: int


class Choice(Message):
    """What an approver decides about a request: the very thing that is signed."""

    grant_id: Id
    verdict: Literal["approve", "deny"]
    scopes: tuple[Scope, ...] = ()
    duration: Duration | None = None
    reason: Line | None = None
    offer: Offer | None = None


class Decide(Command[Access], owner="grants", by=("broker",)):
    """A person's decision; the signature is theirs over `signing.decision_payload`."""

    choice: Choice
    person: Name
    signature: Proof


class RevokeGrant(Command[Access], owner="grants", by=("broker",), deadline=8.0):
    """End a grant now."""

    grant_id: Id
    person: Name
    reason: Line | None = None


class GrantList(Message):
    """Grants, newest first."""

    grants: tuple[GrantView, ...]


class ExtendGrant(Command[Access], owner="grants", by=("broker",)):
    """Let a live grant go on for as long again, once; signed as an approval is."""

    grant_id: Id
    person: Name
    signature: Proof


class ListGrants(Command[GrantList], owner="grants", by=("broker",)):
    """Grants of these projects (None: of all), by state, or one by its id."""

    projects: tuple[Id, ...] | None = None
    grant_id: Id | None = None
    before: Id | None = Field(None, description="the last one of the page before")
    decided_since: AwareDatetime | None = Field(None, description="only by a person, since then")
    states: tuple[str, ...] = ()
    limit: int = Field(200, ge=1, le=1000)


class TargetList(Message):
    """The targets of a project."""

    targets: tuple[TargetView, ...]


class ListTargets(Command[TargetList], owner="grants", by=EDGES):
    """Targets of these projects (None: of all), or as one task sees them."""

    projects: tuple[Id, ...] | None = None
    task_id: Id | None = None


class CheckTarget(Command[HealthAnswer], owner="grants", by=("broker",), deadline=22.0):
    """Try a target's own login now."""

    target_id: Id


class RevokedCertificates(Message):
    """Key ids of SSH certificates that have been ended before their own time."""

    key_ids: tuple[str, ...]


class ListRevokedCertificates(Command[RevokedCertificates], owner="grants", by=("broker",)):
    """What a host should no longer admit."""


class SaveTarget(Command[TargetView], owner="grants", by=("broker",)):
    """Keep a target whose credential `adapters` has verified and stored."""

    target_id: Id
    project_id: Id
    name: Name
    provider: Name
    env: Env
    config: dict[str, str]
    label: Line
    credential_ref: Line
    person: Name
    nonce: Nonce
    signature: Proof


class PolicyText(Message):
    """A project's policy as TOML."""

    toml: str


class PutPolicy(Command[PolicyText], owner="grants", by=("broker",)):
    """Replace a project's rules."""

    project_id: Id
    toml: str = Field(max_length=1_000_000)
    person: Name
    nonce: Nonce
    signature: Proof


class ReadPolicy(Command[PolicyText], owner="grants", by=("broker",)):
    """A project's rules."""

    project_id: Id
