"""The rows that `grants` decides from."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Column, Index, MetaData
from sqlmodel import Field, SQLModel
from styx_core.outbox import outbox_table
from styx_core.schema import Schema


class Row(SQLModel):
    """The root of this service's tables: a metadata of its own."""

    metadata = MetaData()


def _json() -> Any:
    return Field(sa_column=Column(JSON, nullable=False))


class Task(Row, table=True):
    """An agent at work, as admitted: whose calls these are."""

    id: str = Field(primary_key=True)
    project_id: str
    agent: str
    person: str
    worktree: str | None = None
    branch: str | None = None
    ended: bool = False


class Target(Row, table=True):
    """A place outside the repo that an agent can change. Nothing here is secret."""

    __table_args__ = (Index("target_name", "project_id", "name", unique=True),)
    id: str = Field(primary_key=True)
    project_id: str
    name: str
    provider: str
    env: str
    label: str
    config: dict[str, str] = _json()
    credential_ref: str
    expired: bool = False


class Grant(Row, table=True):
    """A request, and the right that it may become."""

    __table_args__ = (
        Index("grant_live", "target_id", "state"),
        Index("grant_task", "task_id", "state"),
    )
    id: str = Field(primary_key=True)
    project_id: str
    task_id: str
    target_id: str
    state: str
    scopes: list[str] = _json()
    command: list[str] = _json()
    command_digest: str | None = None
    exact: bool = False
    surface: str | None = None
    operation: str | None = None
    understood: str = ""
    reason: str | None = None
    why: str
    because: list[str] = _json()
    mfa: bool = False
    approvers: list[str] | None = Field(default=None, sa_column=Column(JSON))
    quorum: int = 1
    own_agent: bool = True
    approvable: bool = True
    max_seconds: int | None = None
    duration: str
    decided_by: str | None = None
    decided_person: str | None = None
    created_at: datetime
    decided_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    ended_at: datetime | None = None
    end_why: str | None = None
    extended_at: datetime | None = None
    used_by: str | None = None
    """The one call that a this-command-once grant went to."""


class Approval(Row, table=True):
    """One approver's signed yes, kept as evidence."""

    grant_id: str = Field(primary_key=True)
    person: str = Field(primary_key=True)
    choice: dict[str, Any] = _json()
    payload: str
    signature: str
    at: datetime


class Lease(Row, table=True):
    """One credential minted under a grant: what is needed to end it, and nothing to use it."""

    id: str = Field(primary_key=True)
    grant_id: str = Field(index=True)
    event_id: str
    """The record of its issue, which must be durable before the credential leaves."""
    surface: str | None = None
    handle: dict[str, str] = _json()
    expires_at: datetime
    scoped: bool
    revocable: str
    issued_at: datetime
    ended_at: datetime | None = Field(default=None, index=True)
    outcome: str | None = None


class Use(Row, table=True):
    """One call that a grant's credential went out for."""

    id: str = Field(primary_key=True)
    grant_id: str
    task_id: str
    lease_id: str
    at: datetime
    exit_code: int | None = None


class Key(Row, table=True):
    """A key that a person signs with: a terminal's (Ed25519, base64) or a passkey's (its attested
    credential data, base64, and how often its authenticator says that it has signed)."""

    id: str = Field(primary_key=True)
    person: str = Field(index=True)
    kind: str
    public_key: str
    credential_id: str | None = Field(default=None, unique=True)
    counter: int = 0
    label: str
    enrolled_at: datetime
    used_at: datetime | None = None


class Member(Row, table=True):
    """What a person may do in one project, or in all."""

    person: str = Field(primary_key=True)
    project_id: str = Field(primary_key=True)
    role: str


class Invitation(Row, table=True):
    """A link that an owner signed, by the hash of its code; gone once it is used."""

    code_sha256: str = Field(primary_key=True)
    person: str | None = None
    project_id: str
    role: str | None = None
    invited_by: str
    expires_at: datetime


class SessionKey(Row, table=True):
    """The key of one web session: signs what needs no passkey, until it expires."""

    id: str = Field(primary_key=True)
    person: str
    public_key: str
    expires_at: datetime


class OfferRow(Row, table=True):
    """What an approver would allow instead of a request that they denied, as they signed it."""

    __tablename__ = "offer"
    grant_id: str = Field(primary_key=True)
    task_id: str = Field(index=True)
    target_id: str
    scopes: list[str] = _json()
    duration: str
    mfa: bool
    """Whether a passkey or a terminal's key signed it."""
    person: str
    payload: str
    signature: str
    expires_at: datetime
    taken_by: str | None = None
    """The grant that came of it."""


class Spent(Row, table=True):
    """A signed payload that was acted on: it is never taken again."""

    sha256: str = Field(primary_key=True)
    at: datetime


class PolicyRow(Row, table=True):
    """A project's rules, as their text."""

    __tablename__ = "policy"
    project_id: str = Field(primary_key=True)
    toml: str


OUTBOX = outbox_table(Row.metadata)
METADATA = Row.metadata
SCHEMA = Schema("grants", METADATA, "styx_grants.migrations")
