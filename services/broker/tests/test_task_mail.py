"""A task's inbox: each event once, in one order, and a coming end only while it still comes."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from broker_adapters import START
from broker_fixture import MODULE, REMOVE, World, until
from sqlalchemy import delete, select
from styx_broker import handlers_board as h
from styx_broker import repository as repo
from styx_broker.task_mail import Nudger, put
from styx_broker.task_notices import Letter
from styx_core.contract import broker_board as b
from styx_core.contract.base import Event
from styx_core.contract.grants_events import GrantDecided, GrantEnded
from styx_core.errors import Invalid
from styx_core.ids import new_id

pytestmark = MODULE


@pytest.fixture(autouse=True)
async def alone(world: World) -> Any:
    """What a test did is undone."""
    yield
    world.deps.now = lambda: START
    await world.deps.db.write(lambda c: c.execute(delete(repo.MAIL)).rowcount)


async def happened(world: World, kind: type[Event], **more: Any) -> Event:
    """`grants` tells of a grant of the running task."""
    about: dict[str, Any] = {"id": new_id("evt"), "at": START, "actor": "ada", "target": "prod"}
    about |= {"project_id": world.project, "task_id": world.task, "scopes": ("delete",)}
    event = kind(**about | {"grant_id": new_id("grt")} | more)
    await world.grants.bus.publish(event.subject, event.id, event.model_dump_json().encode())
    return event


async def decided(world: World, **more: Any) -> Event:
    known = {"verdict": "approve", "decided_by": "user", "because": (), "why": "no rule"}
    return await happened(world, GrantDecided, **known | more)


async def read(world: World, after: str | None = None, task: str = "") -> b.Inbox:
    return await h.read_inbox(b.ReadInbox(task_id=task or world.task, after=after), world.deps)


async def told(world: World, count: int = 1) -> list[b.InboxItem]:
    """What is in the inbox, once there is as much."""
    async with asyncio.timeout(10):
        while len(found := (await read(world)).items) < count:
            await asyncio.sleep(0.002)
    return list(found)


async def test_a_decision_is_told_once_however_often_it_comes(world: World) -> None:
    event = await decided(world)
    (item,) = await told(world)
    assert (item.kind, item.about, item.sender) == ("decision", event.grant_id, None)
    world.bus.durables["broker"].acked.clear()
    world.bus.durables["broker"].again_at.clear()
    await decided(world, decided_by="policy")
    over = await happened(world, GrantEnded, actor="grants", state="expired", why="time")
    (_, ended) = await told(world, 2)
    assert (ended.kind, ended.about) == ("ended", over.grant_id)
    (seq,) = (each.seq for each in world.bus.stream if each.event_id == event.id)
    await until(lambda: seq in world.bus.durables["broker"].acked)
    said = await world.told(b.TaskTold, 2)
    assert [(each.message_id, each.task_id) for each in said] == [
        (item.id, world.task),
        (ended.id, world.task),
    ]


async def test_a_reader_goes_on_from_its_cursor(world: World) -> None:
    assert (await read(world)).cursor is None
    assert (await read(world, "now")).cursor is None
    await decided(world)
    await told(world)
    await decided(world, verdict="deny")
    first, second = await told(world, 2)
    assert (await read(world, first.id)).items == (second,)
    assert (await read(world, "now")) == b.Inbox(items=(), cursor=second.id)
    assert (await read(world, second.id)) == b.Inbox(items=(), cursor=second.id)
    peer = (await world.start())["id"]
    with pytest.raises(Invalid, match="after"):
        await read(world, first.id, peer)


async def test_an_answer_and_a_message_are_in_it_in_their_order(world: World) -> None:
    asked = await h.ask_user(
        b.AskUser(task_id=world.task, kind="question", text="Which table?"), world.deps
    )
    body = {"answer": "the new one"}
    await world.owner.post(f"/v1/questions/{asked.question_id}/answer", json=body)
    peer = (await world.start(name="peer"))["id"]
    await h.send_message(b.SendMessage(task_id=peer, to=world.task, text="mine"), world.deps)
    answer, letter = await told(world, 2)
    assert (answer.kind, answer.about) == ("answer", asked.question_id)
    assert '"Which table?": "the new one"' in answer.text
    assert (letter.kind, letter.about, letter.sender) == ("message", peer, peer)
    page = (await world.owner.get("/board")).text
    assert "mine" in page
    assert "answered your question" not in page, "the board shows what peers say"


async def test_whoever_has_ended_is_told_nothing(world: World) -> None:
    gone = (await world.start())["id"]
    await world.local.post(f"/v1/tasks/{gone}/end")
    letter = Letter(gone, "ended", "x", new_id("grt"), START)
    assert await world.deps.db.write(lambda c: put(c, world.deps, letter, "evt")) is None


async def rows(world: World) -> list[Any]:
    """All that is told, or will be."""
    found = await world.deps.db.read(lambda c: c.execute(select(repo.MAIL)).all())
    return list(found)


async def nudged(world: World, at: datetime) -> list[str]:
    """The kinds in the inbox after a look at that time."""
    world.deps.now = lambda: at
    await Nudger(world.deps).once()
    return [item.kind for item in (await read(world)).items]


async def an_active(world: World, until: datetime) -> Any:
    """A grant of the running task that `grants` knows, decided on the stream."""
    held = asyncio.create_task(world.call(*REMOVE))
    kept = await world.pending()
    await world.grants.settle(kept, "denied")
    await held
    kept.state, kept.expires_at = "active", until
    await decided(world, grant_id=kept.id, expires_at=until)
    async with asyncio.timeout(10):
        while len(await rows(world)) < 2:
            await asyncio.sleep(0.002)
    return kept


async def test_a_coming_end_is_told_when_it_is_near_and_still_comes(world: World) -> None:
    until = START + timedelta(hours=1)
    kept = await an_active(world, until)
    assert await nudged(world, until - timedelta(minutes=6)) == ["decision"]
    assert await nudged(world, until - timedelta(minutes=4)) == ["decision", "ending"]
    assert await nudged(world, until - timedelta(minutes=3)) == ["decision", "ending"]
    assert (await read(world)).items[1].about == kept.id


@pytest.mark.parametrize("change", [{"state": "ended"}, {"expires_at": START + timedelta(hours=9)}])
async def test_a_grant_that_ended_or_was_extended_is_not_about_to_end(
    world: World, change: dict[str, Any]
) -> None:
    kept = await an_active(world, START + timedelta(hours=1))
    for name, value in change.items():
        setattr(kept, name, value)
    assert await nudged(world, START + timedelta(minutes=56)) == ["decision"]
    assert len(await rows(world)) == 1, "it is forgotten"


async def test_a_coming_end_is_read_after_what_came_before_it(world: World) -> None:
    """Its row is older than what was read meanwhile; its place in the inbox isn't."""
    until = START + timedelta(hours=1)
    kept = await an_active(world, until)
    await happened(world, GrantEnded, actor="grants", state="expired", why="time")
    newest = (await told(world, 2))[-1]
    assert await nudged(world, until - timedelta(minutes=1)) == ["decision", "ended", "ending"]
    (item,) = (await read(world, newest.id)).items
    assert (item.kind, item.about) == ("ending", kept.id)
