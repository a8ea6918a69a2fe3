"""What `grants` is asked about rules that may come: what they would say. Pure."""

from typing import Literal

from pydantic import AwareDatetime, Field

from styx_core.contract.base import Command, Message
from styx_core.contract.values import Id, Line, Name, Words
from styx_core.scope import Scope

Effect = Literal["allow", "ask", "deny"]


class Verdict(Message):
    """What rules say about one request, because of which of them."""

    effect: Effect
    matched: tuple[str, ...] = Field(description="rules that bear on it, outweighed ones too")
    because: tuple[str, ...]
    why: str
    mfa: bool
    max_seconds: int | None
    approvers: tuple[str, ...] | None
    quorum: int
    own_agent: bool


class SimulateCall(Command[Verdict], owner="grants", by=("broker",)):
    """One call that might come, put to rules (`toml` None: those in force); nothing is opened."""

    project_id: Id
    toml: str | None = Field(None, max_length=1_000_000)
    agent: Name
    person: Name
    target: Line
    scopes: tuple[Scope, ...] = Field(min_length=1)
    provider: Name | None = Field(None, description="of the command's tool")
    surface: Line | None = None
    command: Words = ()
    at: AwareDatetime | None = None


class Changed(Message):
    """A past request that a draft would have decided differently."""

    grant_id: str
    created_at: AwareDatetime
    agent: str
    person: str
    target: str
    env: str
    scopes: tuple[Scope, ...]
    command: Words
    was: Effect
    would_be: Effect
    because: tuple[str, ...]


class Replayed(Message):
    """What a draft would have changed. `requests`: how many were looked at."""

    requests: int
    whole: bool = Field(description="False where there were more than are looked at")
    more: dict[Effect, int] = Field(description="how many would have become so")
    changed: tuple[Changed, ...] = Field(description="the newest of them")


class ReplayPolicy(Command[Replayed], owner="grants", by=("broker",), deadline=20.0):
    """A draft over the requests of the last days, each at its own time."""

    project_id: Id
    toml: str = Field(max_length=1_000_000)
    days: int = Field(30, ge=1, le=365)


class Suggestion(Message):
    """A rule that would have spared people repeated approvals."""

    id: str
    toml: str
    reason: str
    spared: int = Field(description="approvals that it would have made needless")


class Suggested(Message):
    """Rules that are worth a thought. `requests`: how many were looked at."""

    requests: int
    whole: bool = Field(description="False where there were more than are looked at")
    rules: tuple[Suggestion, ...] = Field(description="those that spare the most first")


class SuggestRules(Command[Suggested], owner="grants", by=("broker",), deadline=20.0):
    """Rules for what people approved again and again, no wider than what they approved."""

    project_id: Id
    days: int = Field(30, ge=1, le=365)
