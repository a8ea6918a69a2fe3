"""The catalog: what providers declare, published by `adapters` in NATS KV, read by everyone else.

Readers keep it in memory and look for a new edition every few seconds, so that no call waits for
it; a classification needs no provider's code.
"""

import asyncio
import contextlib
import json
from collections.abc import Iterable, Mapping
from hashlib import sha256

import structlog

from styx_core.bus import Bus
from styx_core.errors import StyxError, Unavailable, UnknownTool
from styx_core.provider import Provider
from styx_core.redact import redactor
from styx_core.secret_shape import SecretShape
from styx_core.tool import Tool

log = structlog.get_logger()

INDEX = "index"
POLL_SECONDS = 5.0


async def publish(
    bus: Bus,
    providers: Iterable[Provider],
    disabled: Mapping[str, str],
    sealing_key: str,
    public: Mapping[str, str],
) -> None:
    """Put every declaration and its tools, then the index that makes them the current edition."""
    providers = tuple(providers)
    entries: dict[str, bytes] = {}
    for provider in providers:
        entries |= {f"tool.{tool.name}": tool.to_json().encode() for tool in provider.tools}
        entries[f"provider.{provider.id}"] = provider.to_json().encode()
    for key, value in entries.items():
        await bus.catalog_put(key, value)
    index = {
        # Without it, the same names with other rules would look like the edition that readers have.
        "edition": sha256(b"\0".join(entries.values())).hexdigest(),
        "providers": [p.id for p in providers],
        "tools": [t.name for p in providers for t in p.tools],
        "disabled": dict(disabled),
        "sealing_key": sealing_key,
        "public": dict(public),
    }
    await bus.catalog_put(INDEX, json.dumps(index).encode())


class Catalog:
    """A reader's copy."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._index = b""
        self._task: asyncio.Task[None] | None = None
        self.providers: dict[str, Provider] = {}
        self.disabled: dict[str, str] = {}
        self.sealing_key = ""
        self.public: dict[str, str] = {}
        self.strip: tuple[str, ...] = ()
        """Every variable of every provider that may not reach an agent or its tools."""
        self.shapes: tuple[SecretShape, ...] = ()
        self.redact = redactor()
        self._owner: dict[str, tuple[Provider, Tool]] = {}

    async def start(self) -> None:
        """Read what is there, and keep reading."""
        with contextlib.suppress(StyxError):
            await self.refresh()
        self._task = asyncio.create_task(self._poll())

    async def stop(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def refresh(self) -> None:
        """Take the current edition, if it is another than ours.

        Raises `Unavailable` when it can't be had or read; ours stays.
        """
        index = await self._bus.catalog_get(INDEX)
        if index is None or index == self._index:
            return
        try:
            read = json.loads(index)
            tools = {n: Tool.from_json(await self._entry(f"tool.{n}")) for n in read["tools"]}
            providers = {
                p: Provider.from_json(await self._entry(f"provider.{p}"), tools)
                for p in read["providers"]
            }
            public = dict(read["public"])
            self.adopt(providers, read["disabled"], read["sealing_key"])
        except (KeyError, TypeError, ValueError) as error:
            log.warning("catalog unreadable", error=f"{type(error).__name__}: {error}")
            raise Unavailable(
                "the catalog's new edition can't be read, so the one before it stays;"
                " run the same release of adapters and of this service"
            ) from error
        self.public, self._index = public, index

    def adopt(
        self, providers: Mapping[str, Provider], disabled: Mapping[str, str], sealing_key: str
    ) -> None:
        """Take an edition as a whole."""
        self.providers = dict(providers)
        self.disabled = dict(disabled)
        self.sealing_key = sealing_key
        self._owner = {t.name: (p, t) for p in providers.values() for t in p.tools}
        self.strip = tuple(dict.fromkeys(name for p in providers.values() for name in p.stripped()))
        self.shapes = tuple(shape for p in providers.values() for shape in p.shapes)
        self.redact = redactor(self.shapes)

    def tool(self, name: str) -> tuple[Provider, Tool]:
        """Who owns a tool. Raises `UnknownTool`, or `Unavailable` before any edition came."""
        if name in self._owner:
            return self._owner[name]
        if not self._owner:
            raise Unavailable("the catalog of tools has not arrived yet; try again in a moment")
        raise UnknownTool(f"no provider owns the tool {name[:64]!r}; known: {self.tool_names()}")

    def tool_names(self) -> str:
        """The wrapped tools, for a sentence."""
        return ", ".join(sorted(self._owner))

    async def _entry(self, key: str) -> bytes:
        value = await self._bus.catalog_get(key)
        if value is None:
            raise Unavailable(f"the catalog lacks {key}; try again in a moment")
        return value

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS if self._index else 0.1)
            with contextlib.suppress(StyxError):
                await self.refresh()
