"""What a provider declares: one value, from which everything else about it derives. Pure.

Shims, stripped environment, redaction, connect form, grantable scopes, MCP text and docs all come
from here. It holds data only, so that it can travel in the catalog to services that never import
the provider's own code.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self

from styx_core.deploys import Deploy
from styx_core.revocable import Revocable
from styx_core.scope import Scope
from styx_core.secret_shape import SecretShape
from styx_core.tool import Tool

Kind = Literal["env", "ssh-agent"]


@dataclass(frozen=True)
class Field:
    """One thing that connecting asks for. `pattern` (fullmatch) is checked before any use."""

    name: str
    label: str
    secret: bool = False
    required: bool = True
    pattern: str = r"[^\x00-\x1f\x7f]{1,4096}"
    default: str | None = None


@dataclass(frozen=True)
class Method:
    """One way to connect a target of this provider."""

    name: str
    label: str
    fields: tuple[Field, ...]
    local: bool = False
    """Reads a CLI's own login on the machine where adapters run, so offered only there."""
    narrows: tuple[Scope, ...] | None = None
    """What credentials of targets connected so are narrowed to, if not as the provider says."""
    revocable: Revocable = "none"
    """What a revoke can do, at the least, to a credential of a target connected so."""
    prepare: str = ""
    """What to set up at the other end first, as a `string.Template`: `$target` is the id that the
    target will have, `$issuer` and `$issuer_host` where Styx's identity is published, `$styx` its
    address, `$ssh_ca` its CA."""


@dataclass(frozen=True)
class Provider:
    """A kind of target."""

    id: str
    label: str
    tools: tuple[Tool, ...]
    methods: tuple[Method, ...]
    scopes: tuple[Scope, ...]
    kind: Kind = "env"
    narrows: tuple[Scope, ...] = ()
    """Scopes for which the credential that comes out can do no more than the grant says."""
    narrows_known: tuple[Scope, ...] = ()
    """The same, where the call's surface (the provider's service) is known."""
    narrows_surfaces: tuple[str, ...] | None = None
    """The surfaces where narrowing works, if it doesn't at every one."""
    env: tuple[str, ...] = ()
    """Credential variables: set for a call, and stripped from every agent's environment."""
    strip: tuple[str, ...] = ()
    """Further variables that would lead the tool to another credential or another place."""
    quiet: Mapping[str, str] = field(default_factory=dict)
    shapes: tuple[SecretShape, ...] = ()
    deploys: tuple[Deploy, ...] = ()
    """Its obvious ways to deploy, and the file in a repository that hints at each."""
    host_in_argv: bool = False
    """The call itself names the target (`ssh host …`), by the target's name or its host."""

    def method(self, name: str) -> Method | None:
        """The way to connect of this name."""
        return next((m for m in self.methods if m.name == name), None)

    def offered(self, local_machine: bool) -> Self:
        """This provider with the ways to connect that work where adapters run."""
        kept = tuple(m for m in self.methods if local_machine or not m.local)
        return replace(self, methods=kept)

    def narrowable(
        self, scopes: frozenset[Scope], surface: str | None, method: str | None = None
    ) -> bool:
        """Whether a credential for this, at a target connected so, can do no more than it."""
        if surface and self.narrows_surfaces is not None and surface not in self.narrows_surfaces:
            return False
        way = self.method(method) if method is not None else None
        if way is not None and way.narrows is not None:
            return scopes <= {*way.narrows}
        return scopes <= {*self.narrows, *(self.narrows_known if surface else ())}

    def stripped(self) -> tuple[str, ...]:
        """Every variable that may not reach an agent."""
        return (*self.env, *self.strip)

    def to_json(self) -> str:
        """The declaration as the catalog carries it; its tools go beside it."""
        plain = asdict(self, dict_factory=_without_tools)
        plain["tools"] = [tool.name for tool in self.tools]
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes, tools: Mapping[str, Tool]) -> Self:
        """The declaration again, with its tools."""
        raw: dict[str, Any] = json.loads(text)
        return cls(
            id=raw["id"],
            label=raw["label"],
            tools=tuple(tools[name] for name in raw["tools"]),
            methods=tuple(_method(m) for m in raw["methods"]),
            scopes=tuple(Scope(s) for s in raw["scopes"]),
            kind=raw["kind"],
            narrows=tuple(Scope(s) for s in raw["narrows"]),
            narrows_known=tuple(Scope(s) for s in raw["narrows_known"]),
            narrows_surfaces=None if (at := raw["narrows_surfaces"]) is None else tuple(at),
            env=tuple(raw["env"]),
            strip=tuple(raw["strip"]),
            quiet=raw["quiet"],
            shapes=tuple(
                SecretShape(**{**s, "prefixes": tuple(s["prefixes"])}) for s in raw["shapes"]
            ),
            deploys=tuple(Deploy(tuple(d["command"]), d["file"]) for d in raw["deploys"]),
            host_in_argv=raw["host_in_argv"],
        )


def _method(raw: dict[str, Any]) -> Method:
    fields = tuple(Field(**each) for each in raw["fields"])
    narrows = None if raw["narrows"] is None else tuple(Scope(s) for s in raw["narrows"])
    kept = {name: raw[name] for name in ("name", "label", "local", "revocable", "prepare")}
    return Method(**kept, fields=fields, narrows=narrows)


def _without_tools(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {key: value for key, value in items if key != "tools"}
