"""The service as its host opens it: it answers, relays, watches the clock, survives a restart."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grants_fixture import ALLOW, HOUR, OWNER, START, World, providers
from played_adapters import Clock, PlayedAdapters
from styx_core.catalog import publish
from styx_core.contract.adapters import Issue, RevokeLease
from styx_core.contract.base import COMMANDS
from styx_core.contract.grants import AdmitTask, CheckGrant, ListGrants, SaveTarget
from styx_core.contract.grants_events import (
    AccessRequested,
    CredentialIssued,
    CredentialRevoked,
    GrantEnded,
)
from styx_core.contract.grants_people import EnrolApprover
from styx_core.errors import Unavailable
from styx_core.ids import new_id, new_nonce
from styx_core.service import Context, opened
from styx_core.settings import Settings
from styx_core.signing import public_key, sign, target_payload
from styx_core.testing import MemoryBus, migrated
from styx_grants.app import service
from styx_grants.models import SCHEMA

Start = Callable[[], AbstractAsyncContextManager[None]]


@pytest.fixture
async def grants() -> World:
    """What is around the service: a bus with the real catalog, `adapters`, one approver's key."""
    bus, clock = MemoryBus(), Clock()
    world = World(bus, None, clock, PlayedAdapters(clock))  # type: ignore[arg-type]
    world.keys[OWNER] = Ed25519PrivateKey.generate()
    own = bus.as_service("adapters")
    await own.serve("adapters", {Issue: world.adapters.issue, RevokeLease: world.adapters.revoke})
    await publish(own, providers().values(), {}, "", {})
    return world


@pytest.fixture
def start(grants: World, tmp_path: Path) -> Start:
    """Opens the service on its one database; leaving closes it, as a restart does."""

    @asynccontextmanager
    async def run() -> AsyncIterator[None]:
        bus = grants.bus.as_service("grants")
        settings = Settings(database_url=migrated(SCHEMA, f"sqlite:///{tmp_path / 'grants.db'}"))
        async with opened(service, Context(settings, bus, now=grants.clock)):
            yield
        await bus.close()

    return run


async def furnish(grants: World) -> None:
    """An approver, a target on prod and a task, by commands alone."""
    key = grants.keys[OWNER]
    await grants.say(EnrolApprover(person=OWNER, code_sha256="c" * 64, key=public_key(key)))
    about = {"project_id": grants.project, "target_id": new_id("tgt"), "name": "prod"}
    signed = {**about, "provider": "aws", "env": "prod", "nonce": new_nonce()}
    shown: dict[str, Any] = {"config": {}, "label": "prod", "credential_ref": "styx/creds/aws/prod"}
    signature = sign(key, target_payload(**signed))
    await grants.say(SaveTarget(**signed, **shown, person=OWNER, signature=signature))
    agent = {"project_id": grants.project, "agent": "agent", "person": "developer"}
    await grants.say(AdmitTask(task_id=grants.task, **agent))


async def streamed(grants: World, kind: Any) -> list[Any]:
    """The events of a kind, once there are any."""
    async with asyncio.timeout(5):
        while not (found := grants.streamed(kind)):
            await asyncio.sleep(0.01)
    return list(found)


async def test_it_answers_all_that_the_contract_says_and_no_more(
    grants: World, start: Start
) -> None:
    async with start():
        served = {subject for subject, who in grants.bus.servers.items() if who}
    wanted = {kind.subject for kind in COMMANDS.values() if kind.owner == "grants"}
    assert served - {Issue.subject, RevokeLease.subject} == wanted


async def test_a_call_is_decided_by_the_catalog_issued_and_told(
    grants: World, start: Start
) -> None:
    async with start():
        await furnish(grants)
        await grants.policy(ALLOW)
        call = grants.call(target="prod")
        answer = await grants.say(call)
        assert answer.access.status == "active"
        assert grants.opens(answer, call.exec_id)
        (issued,) = grants.streamed(CredentialIssued)
        assert issued.lease_id == answer.sealed.lease_id


async def test_what_waited_waits_on_after_a_restart(grants: World, start: Start) -> None:
    async with start():
        await furnish(grants)
        first = await grants.ask("write", target="prod")
    with pytest.raises(Unavailable, match="grants is not running"):
        await grants.ask("write", target="prod")
    async with start():
        look = CheckGrant(task_id=grants.task, grant_id=first.access.grant_id)
        assert await grants.say(look) == first.access
        again = await grants.ask("write", target="prod")
        assert again.access.grant_id == first.access.grant_id
    assert len(await streamed(grants, AccessRequested)) == 1


async def test_what_the_stream_could_not_take_comes_with_the_next_start(
    grants: World, start: Start
) -> None:
    async with start():
        await furnish(grants)
        asking = asyncio.create_task(grants.ask("write", target="prod"))
        await asyncio.sleep(0)
        grants.bus.away = True
        await asking
    assert grants.streamed(AccessRequested) == []
    grants.bus.away = False
    async with start():
        (told,) = await streamed(grants, AccessRequested)
    assert told.grant_id == asking.result().access.grant_id


async def test_what_ended_while_nobody_watched_ends_at_the_start(
    grants: World, start: Start
) -> None:
    async with start():
        await furnish(grants)
        await grants.policy(ALLOW)
        answer = await grants.ask(target="prod")
    grants.clock.on(HOUR)
    async with start():
        (ended,) = await streamed(grants, GrantEnded)
        (revoked,) = await streamed(grants, CredentialRevoked)
        (seen,) = (await grants.say(ListGrants())).grants
    assert (ended.grant_id, ended.why) == (answer.access.grant_id, "its time was over")
    assert (revoked.lease_id, revoked.outcome) == (answer.sealed.lease_id, "expired")
    assert seen.state == "expired"


async def test_its_clock_set_back_while_it_runs_prolongs_nothing(
    grants: World, start: Start
) -> None:
    async with start():
        await furnish(grants)
        await grants.policy(ALLOW)
        await grants.ask(target="prod")
        grants.clock.on(2 * HOUR)
        (ended,) = await streamed(grants, GrantEnded)
        grants.clock.on(-5 * HOUR)
        again = await grants.ask(target="prod")
        assert again.access.grant_id != ended.grant_id
        assert again.access.expires_at >= START + 3 * HOUR
