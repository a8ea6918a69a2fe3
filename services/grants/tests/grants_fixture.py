"""A `grants` to test with: real rows in a file, its real outbox, and an `adapters` that is played.

`fixture = pytest.fixture(opened)` in a test module gives each of its tests a `World` of its own.
Commands go over the bus in memory, so that what comes back is what a caller would see.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from played_adapters import SECRET, START, Clock, PlayedAdapters
from sqlalchemy import Connection, delete, insert, select
from styx_adapters.registry import declared
from styx_core.catalog import Catalog
from styx_core.contract.adapters import Issue, RevokeLease
from styx_core.contract.base import EVENTS, Command, Event, Message
from styx_core.contract.grants import (
    Access,
    Authorize,
    Authorized,
    Choice,
    Decide,
    GetCredential,
    PutPolicy,
    RequestAccess,
)
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.db import Database
from styx_core.dispatch import handlers_of
from styx_core.errors import StyxError
from styx_core.ids import new_id, new_nonce
from styx_core.outbox import Outbox
from styx_core.provider import Provider
from styx_core.seal import OpeningKey, use_info
from styx_core.signing import decision_payload, policy_payload, public_key, sign
from styx_core.testing import MemoryBus, migrated
from styx_grants import people_rows as people
from styx_grants import repository as repo
from styx_grants.app import HANDLERS
from styx_grants.deps import Deps
from styx_grants.ending import Sweeper
from styx_grants.models import METADATA, OUTBOX, SCHEMA
from styx_grants.passkeys import RelyingParty

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
OWNER, WEB = "owner", "https://styx.example"
ALLOW, ASK, DENY = (
    f'[[rule]]\nid = "{name}"\neffect = "{effect}"\n'
    for name, effect in (("all", "allow"), ("careful", "ask"), ("never", "deny"))
)

R = TypeVar("R", bound=Message)
E = TypeVar("E", bound=Event)


@cache
def providers() -> dict[str, Provider]:
    """What the real providers declare."""
    return {provider.id: provider for provider in declared()}


@dataclass
class World:
    """A `grants` that answers, what is around it, and what it has written down."""

    bus: MemoryBus
    deps: Deps
    clock: Clock
    adapters: PlayedAdapters
    edge: OpeningKey = field(default_factory=OpeningKey.make)
    keys: dict[str, Ed25519PrivateKey] = field(default_factory=dict)
    project: str = field(default_factory=lambda: new_id("prj"))
    task: str = field(default_factory=lambda: new_id("tsk"))

    async def say(self, command: Command[R]) -> R:
        """Send a command as one that may send it."""
        return await self.bus.as_service(type(command).by[0]).request(command)

    async def refused(self, error: type[StyxError], command: Command[Any]) -> str:
        """The refusal's text; exactly this error, and nothing was changed, told or minted."""
        async with self.unchanged():
            with pytest.raises(error) as told:
                await self.say(command)
        assert told.type is error
        return told.value.detail

    @asynccontextmanager
    async def unchanged(self) -> AsyncIterator[None]:
        """No row, event or order to `adapters` is added or changed in here."""
        before = await self.kept()
        yield
        assert await self.kept() == before

    async def kept(self) -> list[object]:
        """Every row and event, and how often `adapters` was told anything."""
        tables = [t for t in METADATA.sorted_tables if t is not OUTBOX]
        told = [event.id for event in await self.events()]
        kept = await self.deps.db.read(lambda c: [c.execute(select(t)).all() for t in tables])
        return [*kept, told, len(self.adapters.asked), len(self.adapters.ended)]

    async def events(self, *kinds: type[E]) -> list[E]:
        """What was recorded, in the stream or still on its way there, in order."""
        rows = await self.deps.db.read(
            lambda c: c.execute(select(OUTBOX).order_by(OUTBOX.c.seq)).all()
        )
        found = {s.event_id: (s.subject, s.body) for s in self.bus.stream}
        found |= {r.event_id: (r.subject, r.body.encode()) for r in rows}
        wanted: Iterable[type[Event]] = kinds or EVENTS.values()
        by_subject = {kind.subject: kind for kind in wanted}
        return [  # type: ignore[misc]
            by_subject[subject].model_validate_json(body)
            for subject, body in found.values()
            if subject in by_subject
        ]

    def streamed(self, kind: type[E]) -> list[E]:
        """What the stream holds at this moment."""
        bodies = (s.body for s in self.bus.stream if s.subject == kind.subject)
        return [kind.model_validate_json(body) for body in bodies]

    async def rows(self, table: Any, **where: object) -> Sequence[Any]:
        """Rows of a table, in the order of their making."""
        query = select(table).filter_by(**where)
        return await self.deps.db.read(lambda c: c.execute(query).all())

    async def add(self, table: Any, **values: object) -> str:
        """Put a row there as something earlier would have; returns its id."""
        kinds = {repo.TARGET: "tgt", repo.TASK: "tsk"}
        row = {"id": new_id(kinds[table]), **values} if table in kinds else values
        await self.deps.db.write(lambda c: c.execute(insert(table), row).rowcount)
        return str(row.get("id"))

    async def approver(self, person: str, *roles: str) -> None:
        """Enrol another approver; a further role is theirs everywhere."""
        self.keys[person] = Ed25519PrivateKey.generate()
        await self.deps.db.write(lambda c: _approver(c, self, person, ("approver", *roles)))

    async def policy(self, toml: str) -> None:
        """Set the project's rules, as its owner."""
        said = {"project_id": self.project, "toml": toml, "nonce": new_nonce()}
        signed = {"person": OWNER, "signature": sign(self.keys[OWNER], policy_payload(**said))}
        await self.say(PutPolicy(**said, **signed))

    def call(self, *scopes: str, **over: Any) -> Authorize:
        """A call at a shim: `aws s3 ls` on staging, if not told otherwise."""
        fields: dict[str, Any] = {
            "task_id": self.task,
            "exec_id": new_id("exe"),
            "provider": "aws",
            "target": "staging",
            "scopes": scopes or ("read",),
            "surface": "s3",
            "operation": "ls",
            "command": ("aws", "s3", "ls"),
            "command_digest": "d" * 64,
            "exact": True,
            "understood": "s3 ls reads",
            "edge_key": self.edge.public,
        }
        return Authorize(**{**fields, **over})

    async def ask(self, *scopes: str, **over: Any) -> Authorized:
        """Such a call's answer."""
        return await self.say(self.call(*scopes, **over))

    def ahead(self, *scopes: str, **over: Any) -> RequestAccess:
        """An agent that asks ahead."""
        fields = {"task_id": self.task, "target": "staging", "reason": "to look"}
        return RequestAccess(**{**fields, "scopes": scopes or ("read",), **over})

    async def given(self, *scopes: str, duration: str | None = None, **over: Any) -> str:
        """A live grant that the owner has approved; returns its id."""
        asked = await self.say(self.ahead(*scopes, **over))
        await self.decide(asked.grant_id, duration=duration)
        return asked.grant_id

    def get(self, grant_id: str, **over: Any) -> GetCredential:
        """An agent that wants a grant's bare credential."""
        fields = {"task_id": self.task, "grant_id": grant_id, "exec_id": new_id("exe")}
        return GetCredential(**{**fields, "edge_key": self.edge.public, **over})

    async def choose(
        self,
        grant_id: str,
        verdict: str = "approve",
        person: str = OWNER,
        key: Ed25519PrivateKey | None = None,
        signed: dict[str, Any] | None = None,
        **choice: Any,
    ) -> Decide:
        """A person's decision; `signed`: what their signature says instead of the choice."""
        (row,) = await self.rows(repo.GRANT, id=grant_id)
        (target,) = await self.rows(repo.TARGET, id=row.target_id)
        said: dict[str, Any] = {
            "grant_id": grant_id,
            "verdict": verdict,
            "target": target.name,
            "env": target.env,
            "scopes": choice.get("scopes") or row.scopes,
            "duration": choice.get("duration") or row.duration,
            "command": row.command,
        }
        payload = decision_payload(**{**said, **(signed or {})})
        return Decide(
            choice=Choice(grant_id=grant_id, verdict=verdict, **choice),
            person=person,
            signature=sign(key or self.keys[person], payload),
        )

    async def decide(self, grant_id: str, verdict: str = "approve", **how: Any) -> Access:
        """The answer to such a decision."""
        return await self.say(await self.choose(grant_id, verdict, **how))

    async def sweep(self) -> None:
        """One look of the sweeper."""
        await Sweeper(self.deps).once()

    def opens(self, answer: Authorized, exec_id: str) -> bool:
        """Whether the edge can open what it was given, for this call."""
        assert answer.sealed is not None
        info = use_info(answer.access.grant_id, exec_id)
        return self.edge.open(answer.sealed.box, info) == SECRET


def _approver(c: Connection, world: World, person: str, roles: Iterable[str]) -> None:
    key = {"id": new_id("key"), "kind": "terminal", "label": "terminal", "enrolled_at": START}
    public = public_key(world.keys[person])
    repo.add(c, people.KEY, **key, person=person, counter=0, public_key=public)
    for where, role in zip((world.project, EVERYWHERE), roles, strict=False):
        repo.add(c, people.MEMBER, person=person, project_id=where, role=role)


def target(
    project: str, name: str, env: str, provider: str = "aws", **config: str
) -> dict[str, Any]:
    """A target's row."""
    values = {"project_id": project, "name": name, "provider": provider, "env": env}
    ref = f"styx/creds/{provider}/{name}"
    return {**values, "label": name, "config": config, "credential_ref": ref, "expired": False}


def task(project: str, person: str = "developer") -> dict[str, Any]:
    """A task's row."""
    return {"project_id": project, "agent": "agent", "person": person, "ended": False}


def _furnish(c: Connection, world: World) -> None:
    """One project with two AWS targets, one task, one approver; nothing else."""
    for table in METADATA.sorted_tables:
        c.execute(delete(table))
    for name, env in (("staging", "staging"), ("prod", "prod")):
        repo.add(c, repo.TARGET, id=new_id("tgt"), **target(world.project, name, env))
    repo.add(c, repo.TASK, id=world.task, **task(world.project))
    _approver(c, world, OWNER, ("owner", "owner"))


@cache
def _database(folder: Path) -> tuple[Database, list[Outbox]]:
    """One file for a whole run, emptied for each test, since statements are compiled per engine;
    and whom it tells of a commit: the outbox of the test that runs."""
    told: list[Outbox] = []

    def tell() -> None:
        for outbox in told:
            outbox.wake()

    return Database(migrated(SCHEMA, f"sqlite:///{folder / 'grants.db'}"), tell), told


async def opened(tmp_path: Path) -> AsyncIterator[World]:
    """A furnished `grants`, whose sweeper looks only when it is told to."""
    bus, clock, outbox = MemoryBus(), Clock(), Outbox(OUTBOX)
    own = bus.as_service("grants")
    db, told = _database(tmp_path.parent)
    catalog = Catalog(own)
    catalog.adopt(providers(), {}, "")
    deps = Deps(own, db, outbox, catalog, clock, RelyingParty(WEB))
    world = World(bus, deps, clock, PlayedAdapters(clock))
    world.keys[OWNER] = Ed25519PrivateKey.generate()
    played = {Issue: world.adapters.issue, RevokeLease: world.adapters.revoke}
    await bus.as_service("adapters").serve("adapters", played)
    await own.serve("grants", handlers_of("grants", deps, *HANDLERS))
    await db.write(lambda c: _furnish(c, world))
    told[:] = [outbox]
    outbox.start(db, own)
    yield world
    told.clear()
    await outbox.stop()
