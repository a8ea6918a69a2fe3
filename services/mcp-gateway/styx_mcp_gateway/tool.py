"""What a tool is: declared once, as pydantic models; schemas, checks and annotations derive. Pure.

Arguments are checked and never coerced; an unknown key is refused by its name; an error names the
key and never repeats its value. An optional argument is one that may be left out, not null: some
clients refuse null unions.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from styx_core.contract.broker import TaskIdentity
from styx_core.errors import Invalid
from styx_core.printable import printable

from styx_mcp_gateway.deps import Deps

Progress = Callable[[float, str], Awaitable[None]]
"""Tell the client a number that grows and a text; nothing happens if it didn't ask for them."""

_SHOWN = 5
"""Problems that one error names at most."""


class Arguments(BaseModel):
    """A tool's arguments, as the agent names them."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class Result(BaseModel):
    """A tool's result; only what was set is shown."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_name=True
    )


def _whole(text: str) -> str:
    if any((c < " " and c not in "\n\t") or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in text):
        raise ValueError("holds a control character, or half of one in UTF-16")
    return text


Text = Annotated[str, AfterValidator(_whole)]
"""Text for people's eyes and the bus: no control characters but line ends and tabs."""


@dataclass(frozen=True)
class Call:
    """One call of a tool: whose it is, and what it works with."""

    task: TaskIdentity
    deps: Deps
    progress: Progress
    token: str = field(default="", repr=False)
    """The task's token: for digests only, never passed on."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """One tool. `{tools}` in the description stands for the CLIs that Styx wraps."""

    name: str
    title: str
    description: str
    arguments: type[A]
    result: type[Result]
    per_minute: int
    run: Callable[[A, Call], Awaitable[Result]]
    reads: bool = False
    repeatable: bool = False
    """A second call with the same arguments changes nothing more."""
    holds: bool = False
    """It may wait for a person, so its answer is streamed."""

    def check(self, given: Mapping[str, Any]) -> A:
        """The arguments as the tool takes them. Raises `Invalid` naming each wrong key."""
        try:
            return self.arguments.model_validate(given)
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)
            raise Invalid("; ".join(map(self._problem, problems[:_SHOWN]))) from None

    def _problem(self, found: Mapping[str, Any]) -> str:
        where = ".".join(printable(str(part)[:64]) for part in found["loc"])
        if found["type"] == "extra_forbidden":
            known = ", ".join(self.input_schema()["properties"]) or "no arguments"
            return f"{where}: {self.name} has no such argument; it takes {known}"
        if found["type"] == "missing":
            return f"{where}: is missing"
        return f"{where}: {found['msg'].removeprefix('Value error, ')}"

    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return portable(self.arguments.model_json_schema())

    def output_schema(self) -> dict[str, Any]:
        """JSON Schema of the result."""
        return portable(self.result.model_json_schema())


def portable(schema: dict[str, Any]) -> dict[str, Any]:
    """Without pydantic's titles and defaults, which some clients refuse or hold as required."""

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return portable(value)
        return [clean(item) for item in value] if isinstance(value, list) else value

    return {
        key: clean(value)
        for key, value in schema.items()
        if isinstance(value, dict) or key not in ("title", "default")
    }
