"""A gateway on a free loopback port, before a `grants` and a `broker` that these tests play."""

import asyncio
import contextlib
import hashlib
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from styx_core.catalog import Catalog, publish
from styx_core.contract.base import Message
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.contract.grants import (
    Access,
    Authorized,
    CheckGrant,
    GetCredential,
    ListTargets,
    RequestAccess,
    Sealed,
    TargetList,
)
from styx_core.contract.grants_events import GrantDecided
from styx_core.contract.values import TargetView
from styx_core.errors import GrantOver, StyxError, Unauthenticated, UnknownGrant, UnknownTarget
from styx_core.ids import new_id
from styx_core.provider import Provider
from styx_core.ratelimit import RateLimit
from styx_core.scope import Scope
from styx_core.seal import OpeningKey, seal, use_info
from styx_core.service import Context, Running, Server
from styx_core.settings import Settings
from styx_core.telemetry import WAITING
from styx_core.testing import MemoryBus
from styx_core.tool import Tool
from styx_core.waiting import Waiting
from styx_mcp_gateway.app import service
from styx_mcp_gateway.calling import Answer, answer
from styx_mcp_gateway.deps import Deps
from styx_mcp_gateway.registry import BY_NAME
from styx_mcp_gateway.tool import Call

TOKEN = "FIXTURE-task-token"
TASK = TaskIdentity(task_id=new_id("tsk"), project_id=new_id("prj"), agent="claude", person="ada")
UNTIL = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
UNTIL_MS = 1_893_553_445_000

ACME = Provider(
    id="acme",
    label="Acme",
    tools=(Tool(name="acme", read=("list",), secrets=("--pin",)),),
    methods=(),
    scopes=(Scope.READ,),
)


def view(name: str, **over: Any) -> TargetView:
    fields: dict[str, Any] = {
        "id": new_id("tgt"),
        "project_id": TASK.project_id,
        "name": name,
        "provider": "acme",
        "env": "staging",
        "label": "acme 1",
        "config": {"inner": "not for agents"},
        "lock_state": "locked",
    }
    return TargetView(**{**fields, **over})


@dataclass
class Grants:
    """What `grants` would answer, and what it was asked."""

    bus: MemoryBus
    asked: list[Message] = field(default_factory=list)
    targets: list[TargetView] = field(default_factory=lambda: [view("shop")])
    access: dict[str, Access] = field(default_factory=dict)
    at_once: dict[str, Any] = field(default_factory=lambda: {"status": "pending"})
    secret: dict[str, Any] = field(default_factory=lambda: {"env": {"ACME_KEY": "FIXTURE-key"}})
    fails: StyxError | None = None
    sealed_to: Callable[[GetCredential], tuple[str, str]] = lambda c: (
        c.edge_key,
        use_info(c.grant_id, c.exec_id),
    )

    def standing(self, grant_id: str, **over: Any) -> Access:
        fields: dict[str, Any] = {
            "grant_id": grant_id,
            "scopes": (Scope.READ,),
            "target": "shop",
            "why": "prod asks",
            "queue_position": 1 if over.get("status") == "pending" else None,
        }
        self.access[grant_id] = Access(**{**fields, **over})
        return self.access[grant_id]

    async def decide(self, grant_id: str, **over: Any) -> None:
        """Change where it stands, and say so on the bus."""
        self.standing(grant_id, **over)
        event = GrantDecided(
            id=new_id("evt"),
            at=UNTIL,
            actor="ada",
            grant_id=grant_id,
            verdict="approve",
            decided_by="user",
            because=(),
            why="",
        )
        body = event.model_dump_json().encode()
        await self.bus.as_service("grants").publish(GrantDecided.subject, event.id, body)

    async def request(self, command: RequestAccess) -> Access:
        self._note(command)
        if command.target not in {t.name for t in self.targets}:
            raise UnknownTarget(f"no target {command.target!r} in this project")
        return self.standing(new_id("grt"), **{"scopes": command.scopes, **self.at_once})

    async def check(self, command: CheckGrant) -> Access:
        self._note(command)
        if command.grant_id not in self.access:
            raise UnknownGrant("unknown grant")
        return self.access[command.grant_id]

    async def credential(self, command: GetCredential) -> Authorized:
        self._note(command)
        access = self.access.get(command.grant_id)
        if access is None:
            raise UnknownGrant("unknown grant")
        if access.status != "active":
            raise GrantOver(f"this grant is {access.status}; ask again with request_access")
        box = seal(self.secret, *self.sealed_to(command))
        sealed = Sealed(
            lease_id=new_id("lse"),
            kind="ssh-agent" if "certificate" in self.secret else "env",
            box=box,
            expires_at=UNTIL,
            scoped=True,
            revocable="expiry",
        )
        return Authorized(access=access, sealed=sealed)

    async def list(self, command: ListTargets) -> TargetList:
        self._note(command)
        return TargetList(targets=tuple(self.targets))

    def _note(self, command: Message) -> None:
        self.asked.append(command)
        if self.fails is not None:
            raise self.fails


@dataclass
class Gateway:
    """The running gateway and what is around it."""

    url: str
    bus: MemoryBus
    grants: Grants
    running: Running
    tokens: dict[str, TaskIdentity]
    server: Server

    def held(self) -> int:
        """Callers that wait now."""
        return int(WAITING.labels("mcp-gateway")._value.get())

    @contextlib.asynccontextmanager
    async def client(self, mode: str = "auto", token: str = TOKEN) -> AsyncIterator[Client]:
        """The SDK's own client; `legacy` speaks the era before 2026-07-28."""
        bearer = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=bearer, timeout=60) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client

    def http(self, token: str | None = TOKEN, **headers: str) -> httpx.AsyncClient:
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        accept = {"Accept": "application/json, text/event-stream"}
        return httpx.AsyncClient(headers={**accept, **bearer, **headers}, timeout=30)


def free_socket() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    return listener


async def played(bus: MemoryBus, grants: Grants, tokens: dict[str, TaskIdentity]) -> None:
    """Serve what `grants`, `broker` and `adapters` would."""

    async def identify(command: IdentifyTask) -> TaskIdentity:
        for token, task in tokens.items():
            if hashlib.sha256(token.encode()).hexdigest() == command.token_sha256:
                return task
        raise Unauthenticated("this token is not of a running task")

    await bus.as_service("broker").serve("broker", {IdentifyTask: identify})
    await bus.as_service("grants").serve(
        "grants",
        {
            RequestAccess: grants.request,
            CheckGrant: grants.check,
            GetCredential: grants.credential,
            ListTargets: grants.list,
        },
    )
    key = OpeningKey.make().public
    await publish(bus.as_service("adapters"), [ACME], {}, key, {})


@dataclass
class Desk:
    """The tools without HTTP: what they work with, and what they said."""

    deps: Deps
    grants: Grants
    said: list[str] = field(default_factory=list)

    async def __call__(self, tool: str, arguments: Any) -> Answer:
        async def progress(_done: float, text: str) -> None:
            self.said.append(text)

        return await answer(BY_NAME[tool], arguments, Call(TASK, self.deps, progress), "")


@pytest.fixture
async def desk() -> Desk:
    bus = MemoryBus()
    grants = Grants(bus)
    await played(bus, grants, {})
    own = bus.as_service("mcp-gateway")
    catalog, waiting = Catalog(own), Waiting("mcp-gateway")
    await catalog.refresh()
    await waiting.start(own)
    return Desk(Deps(own, catalog, waiting, RateLimit({})), grants)


@pytest.fixture
async def gateway() -> AsyncIterator[Gateway]:
    bus = MemoryBus()
    grants, tokens = Grants(bus), {TOKEN: TASK}
    await played(bus, grants, tokens)
    listener = free_socket()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    context = Context(Settings(public_url=url), bus.as_service("mcp-gateway"))
    async with service.open(context) as running:
        assert running.app is not None
        config = uvicorn.Config(running.app, log_config=None, lifespan="off")
        server = Server(config)
        serving = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.005)
        yield Gateway(f"{url}/mcp", bus, grants, running, tokens, server)
        server.end(running.drain)
        with contextlib.suppress(asyncio.CancelledError):
            await serving


@pytest.fixture
def until_ms() -> tuple[datetime, int]:
    """A moment, and the same in epoch milliseconds."""
    return UNTIL, UNTIL_MS


@pytest.fixture
def task() -> TaskIdentity:
    """Whose calls these are."""
    return TASK
