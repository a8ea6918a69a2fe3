"""What `broker` keeps: projects, people, tasks and, of every token, only a hash."""

from datetime import datetime

from sqlalchemy import JSON, MetaData, UniqueConstraint
from sqlmodel import Field, SQLModel
from styx_core.outbox import outbox_table
from styx_core.schema import Schema


class Row(SQLModel):
    """The root of this service's tables: a metadata of its own."""

    metadata = MetaData()


class Project(Row, table=True):
    """What a team works on."""

    id: str = Field(primary_key=True)
    name: str = Field(unique=True)


class Person(Row, table=True):
    """Somebody who may sign in. The keys they decide with are `grants`' rows, not ours."""

    name: str = Field(primary_key=True)
    joined_at: datetime


class Bearer(Row, table=True):
    """What a person's terminal shows to be let in, by its hash."""

    sha256: str = Field(primary_key=True)
    person: str = Field(index=True)


class SignIn(Row, table=True):
    """A nonce that somebody may sign in with, once and soon, by its hash."""

    nonce_sha256: str = Field(primary_key=True)
    expires_at: datetime


class WebSession(Row, table=True):
    """A browser that is signed in, by its cookie's hash; `grants` knows its key as `session`."""

    cookie_sha256: str = Field(primary_key=True)
    person: str = Field(index=True)
    session: str
    expires_at: datetime


class Claim(Row, table=True):
    """A one-time admin link, by the hash of its code."""

    code_sha256: str = Field(primary_key=True)
    used: bool = False


class ApiKey(Row, table=True):
    """What a program shows to work for a person in one project; of the key itself only a hash."""

    id: str = Field(primary_key=True)
    project_id: str = Field(index=True)
    person: str
    name: str
    sha256: str = Field(unique=True)
    may: str
    """Words of `api_keys.MAY`."""
    task_id: str | None = None
    """The task that it works as, if it may be an agent."""
    made_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    revoked_at: datetime | None = None


class OAuthClient(Row, table=True):
    """A program that registered itself: anybody's, until a person lets it in."""

    id: str = Field(primary_key=True)
    name: str
    """Its own words."""
    redirect_uris: list[str] = Field(sa_type=JSON)
    made_at: datetime
    used_at: datetime | None = None


class OAuthCode(Row, table=True):
    """What a person's yes is worth, once and soon, by its hash."""

    sha256: str = Field(primary_key=True)
    client_id: str
    person: str
    project_id: str
    redirect_uri: str
    challenge: str
    expires_at: datetime
    connection_id: str | None = None
    """What it was used for."""
    replayed: bool = False


class Connected(Row, table=True):
    """A client that works as a task of a person in one project, until `ended_at`."""

    id: str = Field(primary_key=True)
    client_id: str = Field(index=True)
    client: str
    """The client's own words, as they were when the person read them."""
    project_id: str = Field(index=True)
    person: str
    task_id: str
    made_at: datetime
    used_at: datetime
    ended_at: datetime | None = None


class OAuthToken(Row, table=True):
    """An access or refresh token of a connected client, by its hash."""

    sha256: str = Field(primary_key=True)
    connection_id: str = Field(index=True)
    kind: str
    expires_at: datetime = Field(index=True)
    replaced_at: datetime | None = None
    """When a refresh token was first used."""


class Channel(Row, table=True):
    """A way by which somebody hears of what happens in a project; `adapters` has its address."""

    id: str = Field(primary_key=True)
    project_id: str = Field(index=True)
    person: str
    name: str
    label: str
    kinds: str
    """Words of `notices.KINDS`."""
    only_own: bool
    after_minutes: int
    made_at: datetime


class NoticeRow(Row, table=True):
    """Something to tell over one channel; gone from here once it was told or is moot."""

    __tablename__ = "notice"
    __table_args__ = (UniqueConstraint("channel_id", "event_id", "kind"),)

    id: str = Field(primary_key=True)
    channel_id: str = Field(index=True)
    event_id: str
    kind: str
    grant_id: str | None = None
    at: datetime
    title: str
    text: str
    about: dict[str, str] = Field(sa_type=JSON)
    due_at: datetime = Field(index=True)
    tries: int = 0
    trouble: str | None = None
    told_at: datetime | None = None
    """When it was told, or turned out to be moot."""
    dead_at: datetime | None = None


class Question(Row, table=True):
    """What a task asks its person; `told_at`: when the task first got the answer."""

    id: str = Field(primary_key=True)
    task_id: str = Field(index=True)
    kind: str
    text: str
    options: list[str] = Field(sa_type=JSON)
    asked_at: datetime
    answer: str | None = None
    note: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None
    told_at: datetime | None = None


class Mail(Row, table=True):
    """What a task is told: a peer's word, or a notice of ours; each event once."""

    __table_args__ = (UniqueConstraint("to", "number"), UniqueConstraint("to", "event_id", "kind"))

    id: str = Field(primary_key=True)
    to: str = Field(index=True)
    number: int | None = None
    """Its place in the inbox: readers go by it. None until it is due."""
    due_at: datetime | None = Field(None, index=True)
    kind: str
    """One of `ItemKind`."""
    sender: str | None = None
    about: str
    text: str
    event_id: str
    at: datetime


class Task(Row, table=True):
    """An agent at work. Its token is dead once `ended_at` is set, or `until` is past.

    `retired`: `grants` knows of the end too.
    """

    id: str = Field(primary_key=True)
    project_id: str
    agent: str
    person: str
    name: str
    branch: str | None = None
    worktree: str | None = None
    token_sha256: str = Field(unique=True)
    started_at: datetime
    status: str = ""
    until: datetime | None = None
    ended_at: datetime | None = None
    retired: bool = False


OUTBOX = outbox_table(Row.metadata)
METADATA = Row.metadata
SCHEMA = Schema("broker", METADATA, "styx_broker.migrations")
