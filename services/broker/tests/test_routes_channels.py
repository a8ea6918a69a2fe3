"""Channels: made, told over, tried again and at last dead; each event once, and nobody else's."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from broker_adapters import KEY, START
from broker_fixture import MODULE, OWNER, REMOVE, World, until
from sqlalchemy import delete, select
from styx_broker import repository as repo
from styx_broker.posting import AGAIN, Poster
from styx_core.contract.adapters_notices import DropChannel, KeepChannel, Tell
from styx_core.contract.broker import ChannelMade, ChannelRemoved
from styx_core.contract.grants_events import AccessRequested
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.errors import Invalid, ProviderFailed
from styx_core.ids import new_id
from styx_core.seal import connect_info, seal

pytestmark = MODULE
URL = "ntfy://FIXTURE-topic"


@pytest.fixture(autouse=True)
async def alone(world: World) -> Any:
    """What a test did is undone."""
    yield
    world.deps.now = lambda: START
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}
    for table in (repo.NOTICE, repo.CHANNEL):
        await world.deps.db.write(lambda c, t=table: c.execute(delete(t)).rowcount)


async def made(world: World, **more: Any) -> Any:
    """A channel."""
    channel = new_id("chn")
    box = seal({"url": URL}, KEY.public, connect_info(channel))
    body = {"id": channel, "project": "shop", "name": "phone", "box": box, **more}
    reply = await world.owner.post("/v1/channels", json=body)
    assert reply.status_code == 201, reply.text
    return reply.json()


async def happened(world: World, grant_id: str | None = None, **over: Any) -> AccessRequested:
    """A request that waits, as `grants` tells of it."""
    about: dict[str, Any] = {"id": new_id("evt"), "at": START, "actor": world.task}
    about |= {"project_id": world.project, "task_id": world.task, "target": "prod"}
    about |= {"scopes": ("delete",), "command": ("aws", "s3", "rm"), "grant_id": grant_id}
    event = AccessRequested(**about | over, understood="it deletes", why="no rule")
    await world.grants.bus.publish(event.subject, event.id, event.model_dump_json().encode())
    return event


async def rows(world: World) -> list[Any]:
    found = await world.deps.db.read(lambda c: c.execute(select(repo.NOTICE)).all())
    return list(found)


async def noted(world: World, count: int = 1) -> list[Any]:
    """The notices, once they are there."""
    async with asyncio.timeout(10):
        while len(found := await rows(world)) < count:
            await asyncio.sleep(0.002)
    return found


async def settled(world: World) -> None:
    """Wait until nothing is left to tell."""
    async with asyncio.timeout(10):
        while any(row.told_at is None for row in await rows(world)):
            await asyncio.sleep(0.002)


async def tried(world: World, times: int) -> None:
    """Wait until the one notice was sent in vain so often: the service's own poster may do it."""
    async with asyncio.timeout(10):
        while [row.tries for row in await rows(world)] != [times]:
            await Poster(world.deps).once()
            await asyncio.sleep(0.002)


async def told(world: World, count: int = 1) -> list[Tell]:
    await until(lambda: len(world.adapters.got(Tell)) >= count)
    return world.adapters.got(Tell)


async def test_a_channel_s_address_is_the_adapters_alone(world: World) -> None:
    channel = await made(world)
    (kept,) = world.adapters.got(KeepChannel)
    assert KEY.open(kept.box, connect_info(channel["id"])) == {"url": URL}
    assert URL.encode() not in world.everything()
    (event,) = await world.told(ChannelMade)
    assert (event.channel_id, event.label) == (channel["id"], "played")
    assert (await world.owner.get("/v1/channels")).json() == [channel]
    again = {"id": channel["id"], "project": "shop", "name": "x", "box": kept.box}
    assert (await world.owner.post("/v1/channels", json=again)).status_code == 422
    assert channel["name"] in (await world.owner.get("/settings")).text


async def test_a_refused_address_is_no_channel(world: World) -> None:
    world.adapters.fails[KeepChannel] = Invalid("url: no address that apprise knows")
    body = {"id": new_id("chn"), "project": "shop", "name": "x", "box": "x"}
    reply = await world.owner.post("/v1/channels", json=body)
    assert (reply.status_code, reply.json()["detail"]) == (
        422,
        "url: no address that apprise knows",
    )
    assert (await world.owner.get("/v1/channels")).json() == []


async def test_each_event_is_told_once_however_often_it_comes(world: World) -> None:
    channel = await made(world)
    event = await happened(world)
    (sent,) = await told(world)
    assert sent.channel_id == channel["id"]
    assert (sent.notice.kind, sent.notice.title) == (
        "access.requested",
        "delete on prod waits for you",
    )
    assert sent.notice.about["project"] == "shop"
    world.bus.durables["broker"].acked.clear()
    world.bus.durables["broker"].again_at.clear()
    other = await happened(world)
    await told(world, 2)
    assert sorted(row.event_id for row in await rows(world)) == sorted([event.id, other.id])


async def test_another_project_s_events_are_not_told(world: World) -> None:
    await made(world)
    await happened(world, project_id=new_id("prj"))
    mine = await happened(world)
    assert [row.event_id for row in await noted(world)] == [mine.id]


async def test_who_has_left_is_told_nothing(world: World) -> None:
    await made(world)
    world.grants.rows.roles[OWNER] = {}
    await happened(world)
    seq = len(world.bus.stream)
    await until(lambda: seq in world.bus.durables["broker"].acked)
    assert await rows(world) == []


async def test_an_escalation_is_told_later_and_not_of_what_was_settled(world: World) -> None:
    await made(world, after_minutes=10)
    held = asyncio.create_task(world.call(*REMOVE, target="prod"))
    kept = await world.pending()
    held.cancel()
    await happened(world, kept.id)
    await happened(world, new_id("grt"))
    await noted(world, 2)
    await Poster(world.deps).once()
    assert world.adapters.got(Tell) == []
    world.deps.now = lambda: START + timedelta(minutes=10)
    await Poster(world.deps).once()
    (sent,) = await told(world)
    assert sent.notice.link.endswith(f"/grants/{kept.id}")
    await settled(world)
    troubles = {row.grant_id == kept.id: row.trouble for row in await rows(world)}
    assert troubles == {True: None, False: "it was settled before"}


async def test_what_is_not_taken_is_tried_again_and_at_last_a_dead_letter(world: World) -> None:
    await made(world)
    world.adapters.fails[Tell] = ProviderFailed("the webhook answered with HTTP 500")
    await happened(world)
    await tried(world, 1)
    clock = START
    for times, pause in enumerate(AGAIN, 2):
        assert (await world.owner.get("/v1/dead-letters")).json() == []
        clock += pause
        world.deps.now = lambda clock=clock: clock
        await tried(world, times)
    tries = world.adapters.got(Tell)
    assert len(tries) == len(AGAIN) + 1
    assert len({each.notice.id for each in tries}) == 1, "a receiver can drop a repeat"
    (dead,) = (await world.owner.get("/v1/dead-letters")).json()
    assert dead["trouble"] == "the webhook answered with HTTP 500"
    assert dead["title"] in (await world.owner.get("/settings")).text
    world.adapters.fails.clear()
    reply = await world.owner.post(f"/v1/dead-letters/{dead['id']}/retry")
    assert reply.status_code == 200
    await Poster(world.deps).once()
    assert (await world.owner.get("/v1/dead-letters")).json() == []
    assert (await rows(world))[0].told_at is not None
    again = await world.owner.post(f"/v1/dead-letters/{dead['id']}/retry")
    assert (again.status_code, again.json()["code"]) == (404, "unknown_channel")


async def test_a_channel_is_tried_and_removed_by_who_may_see_it(world: World) -> None:
    channel = await made(world)
    path = f"/v1/channels/{channel['id']}"
    assert (await world.owner.post(f"{path}/test")).json() == {"told": "phone"}
    (sent,) = world.adapters.got(Tell)
    assert sent.notice.kind == "channel.tested"
    world.adapters.fails[Tell] = ProviderFailed("the channel's service did not take the notice")
    assert (await world.owner.post(f"{path}/test")).status_code == 502
    assert (await world.owner.post(f"{path}/remove")).json() == {"removed": channel["id"]}
    assert [each.channel_id for each in world.adapters.got(DropChannel)] == [channel["id"]]
    (event,) = await world.told(ChannelRemoved)
    assert event.why == f"{OWNER} removed it"
    assert (await world.owner.post(f"{path}/test")).status_code == 404
