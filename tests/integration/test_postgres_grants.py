"""`grants` on PostgreSQL: a grant's whole life, its races, and what can't be recorded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from stack_fixture import until
from styx_core import signing
from styx_core.bus import Bus
from styx_core.catalog import publish
from styx_core.contract.adapters import Issue, Issued, Revoked, RevokeLease
from styx_core.contract.grants import (
    AdmitTask,
    Authorize,
    CheckGrant,
    Choice,
    Decide,
    ListGrants,
    PutPolicy,
    RetireTask,
    RevokeGrant,
    SaveTarget,
    Sealed,
)
from styx_core.contract.grants_people import EnrolApprover
from styx_core.errors import AlreadyDecided, Unavailable, Unrecorded
from styx_core.ids import new_id, new_nonce
from styx_core.provider import Provider
from styx_core.scope import Scope
from styx_core.seal import OpeningKey, seal, use_info
from styx_core.service import Context, opened
from styx_core.settings import Settings
from styx_core.testing import MemoryBus, Stored, migrated
from styx_core.tool import Tool
from styx_grants.app import service as grants_service
from styx_grants.models import SCHEMA

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

ACME = Provider(
    "acme", "Acme", (Tool(name="acme", read=("list",), delete=("rm",)),), (),
    (Scope.READ, Scope.DELETE), narrows=(Scope.READ, Scope.DELETE),
)  # fmt: skip
POLICY = """
[[rule]]
id = "reads"
effect = "allow"
[rule.match]
scopes = ["read"]
"""
KEY = signing.signing_key(b"FIXTURE-approver" * 2)
PROJECT, TARGET = new_id("prj"), new_id("tgt")


@dataclass
class Adapters:
    """`adapters`, played: it seals a fixture and ends what it is told to."""

    ended: list[str] = field(default_factory=list)

    async def issue(self, command: Issue) -> Issued:
        info = use_info(command.grant_id, command.exec_id)
        sealed = Sealed(
            lease_id=command.lease_id,
            kind="env",
            box=seal({"env": {"ACME": "FIXTURE"}}, command.edge_key, info),
            expires_at=datetime.now(UTC) + timedelta(minutes=15),
            scoped=True,
            revocable="hard",
        )
        return Issued(sealed=sealed, fresh=True, handle={"lease": command.lease_id})

    async def revoke(self, command: RevokeLease) -> Revoked:
        self.ended.append(command.lease_id)
        return Revoked(outcome="hard", detail="")


class Stream(MemoryBus):
    """A bus whose stream takes nothing while it is `jammed`; commands go on."""

    jammed = False

    async def store(self, event: Stored) -> None:
        if self.jammed:
            raise Unavailable("the stream is full")
        await super().store(event)


@dataclass
class Service:
    """`grants` on PostgreSQL, and who asks it."""

    bus: Stream
    broker: Bus
    adapters: Adapters

    async def task(self) -> str:
        task = new_id("tsk")
        about = {"project_id": PROJECT, "agent": "a", "person": "ada"}
        await self.broker.request(AdmitTask(task_id=task, **about))
        return task

    async def authorize(self, task: str, scope: str) -> Any:
        return await self.broker.request(
            Authorize(
                task_id=task, exec_id=new_id("exe"), provider="acme", scopes=(Scope(scope),),
                command=("acme", scope), command_digest="d", exact=True, understood="",
                edge_key=OpeningKey.make().public,
            )
        )  # fmt: skip

    async def decide(self, grant_id: str, verdict: Any) -> Any:
        payload = signing.decision_payload(
            grant_id=grant_id, verdict=verdict, target="shop", env="prod", scopes=("delete",),
            duration="1h", command=("acme", "delete"),
        )  # fmt: skip
        choice = Choice(grant_id=grant_id, verdict=verdict)
        signature = signing.sign(KEY, payload)
        command = Decide(choice=choice, person="ada", signature=signature)
        return await self.broker.request(command)

    def told(self, kind: str) -> list[str]:
        return [e.event_id for e in self.bus.stream if e.subject.endswith(f".{kind}")]


@pytest_asyncio.fixture(loop_scope="module")
async def grants(database_url: str) -> AsyncIterator[Service]:
    bus, adapters = Stream(), Adapters()
    own = bus.as_service("adapters")
    await own.serve("adapters", {Issue: adapters.issue, RevokeLease: adapters.revoke})
    await publish(own, [ACME], {}, "", {})
    async with AsyncExitStack() as stack:
        context = Context(
            Settings(database_url=migrated(SCHEMA, database_url)), bus.as_service("grants")
        )
        await stack.enter_async_context(opened(grants_service, context))
        service = Service(bus, bus.as_service("broker"), adapters)
        ask = service.broker.request
        await ask(EnrolApprover(person="ada", code_sha256="c" * 64, key=signing.public_key(KEY)))
        about = {"project_id": PROJECT, "target_id": TARGET, "name": "shop", "provider": "acme"}
        about |= {"env": "prod", "nonce": new_nonce()}
        signature = signing.sign(KEY, signing.target_payload(**about))
        more = {"config": {}, "label": "l", "credential_ref": "creds/acme/x", "person": "ada"}
        await ask(SaveTarget(**about, **more, signature=signature))
        rules = {"project_id": PROJECT, "toml": POLICY, "nonce": new_nonce()}
        signed = {"person": "ada", "signature": signing.sign(KEY, signing.policy_payload(**rules))}
        await ask(PutPolicy(**rules, **signed))
        yield service


async def test_a_grants_whole_life(grants: Service) -> None:
    task = await grants.task()
    read = await grants.authorize(task, "read")
    assert read.access.status == "active"
    assert read.sealed is not None
    asked = await grants.authorize(task, "delete")
    assert (asked.access.status, asked.access.queue_position) == ("pending", 1)
    approved = await grants.decide(asked.access.grant_id, "approve")
    assert approved.status == "active"
    used = await grants.authorize(task, "delete")
    assert used.sealed.scoped
    revoke = RevokeGrant(grant_id=asked.access.grant_id, person="ada")
    assert (await grants.broker.request(revoke)).status == "ended"
    assert grants.adapters.ended == [used.sealed.lease_id]
    await grants.broker.request(RetireTask(task_id=task))
    assert set(grants.adapters.ended) == {used.sealed.lease_id, read.sealed.lease_id}
    listed = (await grants.broker.request(ListGrants(projects=(PROJECT,)))).grants
    assert {g.state for g in listed} == {"revoked", "expired"}
    assert all(g.created_at.utcoffset() == timedelta(0) for g in listed)
    await until(lambda: len(grants.told("credential_revoked")) == 2)
    assert len(grants.told("credential_issued")) == 2


async def test_two_deciders_at_once_and_one_is_told_who_was_first(grants: Service) -> None:
    for _ in range(10):
        asked = await grants.authorize(await grants.task(), "delete")
        grant_id = asked.access.grant_id
        verdicts = ("approve", "deny", "approve", "deny")
        said = await asyncio.gather(
            *(grants.decide(grant_id, verdict) for verdict in verdicts), return_exceptions=True
        )
        won = [each for each in said if not isinstance(each, BaseException)]
        lost = [each for each in said if isinstance(each, AlreadyDecided)]
        assert (len(won), len(lost)) == (1, 3)
        assert all("ada" in each.detail for each in lost)
    await until(lambda: len(grants.told("grant_decided")) == 10)


async def test_a_live_grant_is_found_again(grants: Service) -> None:
    task = await grants.task()
    uses = await asyncio.gather(*(grants.authorize(task, "read") for _ in range(8)))
    later = await grants.authorize(task, "read")
    assert later.access.grant_id in {use.access.grant_id for use in uses}
    check = CheckGrant(task_id=task, grant_id=later.access.grant_id)
    assert (await grants.broker.request(check)).status == "active"


async def test_what_cant_be_recorded_is_taken_back_and_that_is_recorded(grants: Service) -> None:
    task = await grants.task()
    grants.bus.jammed = True
    with pytest.raises(Unrecorded):
        await grants.authorize(task, "read")
    assert len(grants.adapters.ended) == 1
    assert not grants.told("credential_issued")
    grants.bus.jammed = False
    await until(lambda: grants.told("credential_revoked"))
    assert len(grants.told("credential_issued")) == 1, "the log tells of both"
