"""What a command comes to, for calls that are made and for calls that are only tried. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from styx_core.catalog import Catalog
from styx_core.classify import classify
from styx_core.errors import Forbidden
from styx_core.provider import Provider
from styx_core.redact import redact_argv
from styx_core.scope import Scope, ordered
from styx_core.tool import Tool

MINTS: Final = (
    "this prints or mints a credential that would outlive its grant, so no agent gets it through "
    "Styx; ask your person to run it"
)
CHANGES: Final = frozenset(Scope) - {Scope.READ}
ELSEWHERE: Final = "but a flag takes it to another login or another place, so it needs the most"


@dataclass(frozen=True)
class Understood:
    """A command as policy sees it; `hidden` is what may be kept of its words."""

    provider: Provider
    tool: Tool
    scopes: tuple[Scope, ...]
    surface: str | None
    operation: str | None
    why: str
    words: tuple[str, ...]
    hidden: tuple[str, ...]


def understood(catalog: Catalog, name: str, argv: Sequence[str]) -> Understood:
    """What a tool with these arguments needs.

    Raises `UnknownTool`, and `Forbidden` for what no grant covers.
    """
    provider, tool = catalog.tool(name)
    found = classify(tool, argv)
    if found.mints:
        raise Forbidden(MINTS)
    scopes, why = found.scopes, found.why
    if found.identity_switch:
        scopes, why = scopes | CHANGES.intersection(provider.scopes), f"{why}, {ELSEWHERE}"
    words = (tool.name, *argv)
    return Understood(
        provider=provider,
        tool=tool,
        scopes=ordered(scopes),
        surface=found.surface,
        operation=found.operation,
        why=why,
        words=words,
        hidden=redact_argv(words, catalog.shapes, tool.secrets),
    )
