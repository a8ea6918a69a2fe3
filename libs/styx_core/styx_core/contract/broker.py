"""What `broker` is asked and what it says. Pure."""

from pydantic import AwareDatetime

from styx_core.contract.base import Command, Event, Message


class TaskIdentity(Message):
    """Whose token it is."""

    task_id: str
    project_id: str
    agent: str
    person: str


class IdentifyTask(Command[TaskIdentity], owner="broker", by=("mcp-gateway",)):
    """Which live task holds the token with this SHA-256 (hex)? The token itself never travels."""

    token_sha256: str


class PersonIdentity(Message):
    """Whose bearer it is, and where they may see what happens: in every project, or in these."""

    person: str
    everywhere: bool
    projects: tuple[str, ...] = ()


class IdentifyPerson(Command[PersonIdentity], owner="broker", by=("audit",)):
    """Which person holds the bearer, or the session's cookie, with this SHA-256 (hex)?"""

    bearer_sha256: str


class TaskStarted(Event, owner="broker"):
    """A task got its token."""

    agent: str
    person: str
    name: str
    worktree: str | None = None
    branch: str | None = None


class TaskEnded(Event, owner="broker"):
    """A task's token is dead."""

    why: str


class PersonSignedIn(Event, owner="broker"):
    """Somebody signed in by an identity provider: they look, and sign nothing by it."""

    person: str
    issuer: str


class ApiKeyMade(Event, owner="broker"):
    """A program may work for somebody in one project."""

    key_id: str
    person: str
    name: str
    may: tuple[str, ...]
    expires_at: AwareDatetime | None


class ApiKeyRevoked(Event, owner="broker"):
    """An API key opens nothing any more."""

    key_id: str
    person: str
    name: str
    why: str


class ClientConnected(Event, owner="broker"):
    """Somebody let an OAuth client work as a task of theirs, `task_id`, in one project."""

    connection_id: str
    person: str
    client: str


class ClientTokenReplayed(Event, owner="broker"):
    """A client's code or refresh token came a second time, too late to be its own: all ends."""

    connection_id: str
    person: str
    client: str
    what: str


class ClientAccessEnded(Event, owner="broker"):
    """An OAuth client gets in no more, and its task ends."""

    connection_id: str
    person: str
    client: str
    why: str


class ChannelMade(Event, owner="broker"):
    """Somebody is told of what happens in a project."""

    channel_id: str
    person: str
    label: str


class ChannelRemoved(Event, owner="broker"):
    """Nobody is told over this any more."""

    channel_id: str
    person: str
    label: str
    why: str


class ProjectCreated(Event, owner="broker"):
    """A project exists."""

    name: str


class AdminClaimed(Event, owner="broker"):
    """The one-time admin link was used."""

    person: str


class CallRefused(Event, owner="broker"):
    """A call at the edge ended before it could be decided."""

    code: str
    why: str


class ToolBypassed(Event, owner="broker"):
    """A task's agent ran a wrapped tool by its full path: no credential of Styx's was in it."""

    tool: str
