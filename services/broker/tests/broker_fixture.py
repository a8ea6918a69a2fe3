"""The real `broker` to test with: its HTTP app, its rows in a file, its bus in memory.

A module with `pytestmark = MODULE` shares one, the fixture `world`: claimed, with a project and a
running task, and around it a `grants` and an `adapters` that are played. `broker` gives one alone.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from broker_adapters import START, PlayedAdapters
from broker_grants import Kept, PlayedGrants
from sqlalchemy import select
from styx_broker.app import service
from styx_broker.exec_wire import SHIM_TYPE
from styx_broker.models import OUTBOX, SCHEMA
from styx_core.service import Context, Running
from styx_core.service import opened as opened_service
from styx_core.settings import Settings
from styx_core.signing import bearer, public_key, sign, signing_key
from styx_core.testing import MemoryBus, migrated

MODULE = pytest.mark.asyncio(loop_scope="module")
OWNER, OWNER_SECRET = "owner", b"FIXTURE owner token, 32 bytes .."
TCP, SOCKET = "http://broker:4100", "http://socket"
LINK = "https://styx.example"
LIST = ("s3", "ls")
REMOVE = ("s3", "rm", "s3://b/k")


def now() -> datetime:
    """The wall clock, stopped."""
    return START


def bearing(token: str) -> dict[str, str]:
    """The header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


async def until(holds: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.002)


@dataclass
class World:
    """A `broker` that answers, and what is around it."""

    bus: MemoryBus
    running: Running
    grants: PlayedGrants
    adapters: PlayedAdapters
    folder: Path
    clients: list[httpx.AsyncClient] = field(default_factory=list)
    project: str = ""
    token: str = ""
    task: str = ""
    seen: int = 0

    def client(self, base: str = TCP, token: str = "", faults: bool = True) -> httpx.AsyncClient:
        """A way in: through TCP, or through the socket that has no port."""
        transport = httpx.ASGITransport(self.running.app, raise_app_exceptions=faults)  # type: ignore[arg-type]
        headers = bearing(token) if token else {}
        made = httpx.AsyncClient(transport=transport, base_url=base, headers=headers)
        self.clients.append(made)
        return made

    @property
    def deps(self) -> Any:
        """The service's edges."""
        return self.running.app.state.deps  # type: ignore[union-attr]

    @property
    def owner(self) -> httpx.AsyncClient:
        """The person, signed in."""
        return self.client(token=bearer(OWNER_SECRET))

    @property
    def local(self) -> httpx.AsyncClient:
        """Whoever may open the socket."""
        return self.client(SOCKET)

    async def reset(self) -> None:
        """Forget what a test did; what it recorded is on the stream, and from here on uncounted."""
        self.grants.reset()
        self.adapters.reset()
        self.bus.away = False
        while await self.deps.db.read(lambda c: c.execute(select(OUTBOX).limit(1)).first()):
            await asyncio.sleep(0.002)
        self.seen = len(self.bus.stream)

    async def claim(self) -> None:
        """Use the admin link, as `styx login` does."""
        assert self.running.first_start is not None
        reply = await self.client().post(
            "/v1/claim", json=claiming(await self.running.first_start())
        )
        assert reply.status_code == 201, reply.text

    async def start(self, **about: str) -> dict[str, Any]:
        """Start a task as `styx run` does."""
        reply = await self.local.post("/v1/tasks", json=about)
        assert reply.status_code == 201, reply.text
        started: dict[str, Any] = reply.json()
        return started

    async def call(self, *argv: str, tool: str = "aws", **more: Any) -> httpx.Response:
        """One call as JSON."""
        body = {"tool": tool, "argv": argv, "target": "staging", **more}
        return await self.client(token=self.token).post("/v1/exec", json=body)

    async def shim(
        self, *words: str | bytes, token: str | None = None, **headers: str
    ) -> tuple[int, list[str]]:
        """One call in the shim's form: the status, and the fields of the answer."""
        body = b"\0".join(w if isinstance(w, bytes) else w.encode() for w in words)
        kind = {"Content-Type": SHIM_TYPE, "Accept": SHIM_TYPE, "Styx-Target": "staging"}
        client = self.client(token=self.token if token is None else token)
        reply = await client.post("/v1/exec", content=body, headers={**kind, **headers})
        *whole, rest = reply.content.split(b"\0")
        assert rest == b"", "every field is ended"
        return reply.status_code, [each.decode() for each in whole]

    async def pending(self) -> Kept:
        """The request that waits, once somebody holds its caller."""
        await until(lambda: self.deps.waiting._held and self.grants.rows.kept)
        return next(k for k in self.grants.rows.kept.values() if k.state == "pending")

    def events(self, kind: type[Any]) -> list[Any]:
        """What the stream holds of one kind."""
        told = [s for s in self.bus.stream[self.seen :] if s.subject == kind.subject]
        return [kind.model_validate_json(s.body) for s in told]

    async def told(self, kind: type[Any], count: int = 1) -> list[Any]:
        """The same, once it has come."""
        await until(lambda: len(self.events(kind)) >= count)
        return self.events(kind)

    def everything(self) -> bytes:
        """All that went over the bus or was written down."""
        said = [c.model_dump_json().encode() for p in (self.grants, self.adapters) for c in p.heard]
        kept = [path.read_bytes() for path in self.folder.iterdir() if path.is_file()]
        return b"\n".join([*said, *kept, *(event.body for event in self.bus.stream)])


def claiming(code: str | None, person: str = OWNER) -> dict[str, Any]:
    """The body of a claim."""
    key = public_key(signing_key(OWNER_SECRET))
    return {"code": code, "person": person, "bearer": bearer(OWNER_SECRET), "key": key}


def signed(payload: str, secret: bytes = OWNER_SECRET) -> str:
    """A signature, the owner's own if not told otherwise."""
    return sign(signing_key(secret), payload)


@asynccontextmanager
async def broker(folder: Path, **over: Any) -> AsyncIterator[World]:
    """A broker that nobody has claimed yet; `over` changes its settings."""
    bus = MemoryBus()
    adapters, grants = PlayedAdapters(bus), PlayedGrants(bus)
    await adapters.publish()
    await adapters.serve()
    await grants.serve()
    known = {"database_url": f"sqlite:///{folder / 'broker.db'}", "public_url": LINK}
    migrated(SCHEMA, known["database_url"])
    settings = Settings(**{**known, "wait_seconds": 20, "log_level": "INFO", **over})
    context = Context(settings, bus.as_service("broker"), None, now)
    async with opened_service(service, context) as running:
        world = World(bus, running, grants, adapters, folder)
        yield world
        for client in world.clients:
            await client.aclose()


async def opened(tmp_path: Path) -> AsyncIterator[World]:
    """A claimed broker with one project and one running task."""
    async with broker(tmp_path) as world:
        await world.claim()
        made = await world.owner.post("/v1/projects", json={"name": "shop"})
        world.project = made.json()["id"]
        started = await world.start()
        world.token, world.task = started["token"], started["id"]
        yield world
