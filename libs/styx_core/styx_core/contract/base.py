"""What a message is. A class declares it once; subject, schema and rights derive from it. Pure.

`class Authorize(Command[Authorized], owner="grants", by=("broker",))` is a command that the service
`grants` answers on `styx.v1.cmd.grants.authorize`, which only `broker` may send. An event
`class GrantDecided(Event, owner="grants")` is a fact on `styx.v1.evt.grants.grant_decided`.
"""

import re
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from styx_core.scope import Scope

VERSION = "styx.v1"

COMMANDS: dict[str, type["Command[Any]"]] = {}
EVENTS: dict[str, type["Event"]] = {}


class Message(BaseModel):
    """A value on the bus: frozen, strict, and with no key that it doesn't know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


R_co = TypeVar("R_co", bound=Message, covariant=True)


def snake(name: str) -> str:
    """`GrantDecided` → `grant_decided`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Command(Message, Generic[R_co]):
    """A request to one service, answered with an `R_co` or an error."""

    owner: ClassVar[str]
    by: ClassVar[tuple[str, ...]]
    subject: ClassVar[str]
    reply: ClassVar[type[Message]]
    deadline: ClassVar[float]
    """Seconds that a caller waits for the answer."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(
        cls, owner: str = "", by: tuple[str, ...] = (), deadline: float = 3.0, **kwargs: Any
    ) -> None:
        super().__pydantic_init_subclass__()
        if not owner:
            return
        cls.owner, cls.by, cls.deadline = owner, by, deadline
        cls.subject = f"{VERSION}.cmd.{owner}.{snake(cls.__name__)}"
        cls.reply = cls.__mro__[1].__pydantic_generic_metadata__["args"][0]  # type: ignore[attr-defined]
        COMMANDS[cls.subject] = cls


class Event(Message):
    """A fact that a service's own rows hold too; audit records each of them once."""

    owner: ClassVar[str]
    subject: ClassVar[str]

    id: str
    at: AwareDatetime
    actor: str = Field(description="who or what did it: a person, a task, a policy, a service")
    project_id: str | None = None
    task_id: str | None = None
    grant_id: str | None = None
    target: str | None = Field(None, description="the target's name")
    scopes: tuple[Scope, ...] = ()
    command: tuple[str, ...] = Field((), description="redacted before it came here")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    @classmethod
    def __pydantic_init_subclass__(cls, owner: str = "", **kwargs: Any) -> None:
        super().__pydantic_init_subclass__()
        if owner:
            cls.owner = owner
            cls.subject = f"{VERSION}.evt.{owner}.{snake(cls.__name__)}"
            EVENTS[cls.subject] = cls


class Done(Message):
    """The answer of a command that has nothing else to say."""


class Fault(Message):
    """How an error crosses the bus."""

    code: str
    detail: str
    retryable: bool


def utc_ms(moment: datetime | None) -> int | None:
    """Epoch milliseconds, as the MCP tools give times; None stays None."""
    return None if moment is None else int(moment.timestamp() * 1000)
