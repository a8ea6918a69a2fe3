"""The outbox on real SQLite files: an event lives and dies with its state, and reaches the stream
once, in order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import Column, Connection, Integer, MetaData, Table, insert, select
from styx_core import outbox as module
from styx_core.bus import Bus
from styx_core.contract.broker import TaskStarted
from styx_core.contract.grants_events import GrantEnded
from styx_core.db import Database
from styx_core.errors import Unavailable, Unrecorded
from styx_core.ids import new_id
from styx_core.outbox import BATCH, Outbox, outbox_table
from styx_core.telemetry import span
from styx_core.testing import MemoryBus, MemoryService, tables

FAR = 20.0
"""Seconds that nothing here takes."""


@dataclass
class World:
    """One service's database and outbox, with a table that holds its state."""

    db: Database
    outbox: Outbox
    state: Table
    server: MemoryBus

    def change(self, number: int, event: TaskStarted, fails: bool = False) -> Awaitable[str]:
        def run(c: Connection) -> str:
            c.execute(insert(self.state), {"n": number})
            made = self.outbox.record(c, event)
            if fails:
                raise LookupError("FIXTURE")
            return made

        return self.db.write(run)

    async def rows(self) -> list[str]:
        query = select(self.outbox.table.c.event_id).order_by(self.outbox.table.c.seq)
        return list(await self.db.read(lambda c: c.execute(query).scalars().all()))

    async def numbers(self) -> list[int]:
        return list(await self.db.read(lambda c: c.execute(select(self.state.c.n)).scalars().all()))

    def streamed(self) -> list[str]:
        return [event.event_id for event in self.server.stream]


Opened = Callable[..., World]


@pytest_asyncio.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """Opens the database again and again, as replicas and restarts do."""
    worlds: list[World] = []

    def world(path: Path = tmp_path / "db.sqlite", server: MemoryBus | None = None) -> World:
        metadata = MetaData()
        state = Table("state", metadata, Column("n", Integer, primary_key=True))
        outbox = Outbox(outbox_table(metadata))
        db = Database(tables(f"sqlite:///{path}", metadata), outbox.wake)
        worlds.append(World(db, outbox, state, server or MemoryBus()))
        return worlds[-1]

    yield world
    for one in worlds:
        await one.outbox.stop()
        await one.db.close()


def started(name: str = "n") -> TaskStarted:
    return TaskStarted(
        id=new_id("evt"), at=datetime.now(UTC), actor="ada", agent="a", person="ada", name=name
    )


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(FAR):
        while not await condition():
            await asyncio.sleep(0.005)


async def test_state_and_event_are_one(opened: Opened) -> None:
    world = opened()
    with pytest.raises(LookupError, match="FIXTURE"):
        await world.change(1, started(), fails=True)
    assert (await world.numbers(), await world.rows()) == ([], [])
    kept = await world.change(1, started())
    assert (await world.numbers(), await world.rows()) == ([1], [kept])


async def test_in_a_group_only_the_one_that_failed_leaves_nothing(opened: Opened) -> None:
    world = opened()
    jobs = (world.change(n, started(), fails=n % 2 == 1) for n in range(40))
    done = await asyncio.gather(*jobs, return_exceptions=True)
    kept = [each for each in done if isinstance(each, str)]
    assert len(kept) == 20
    assert await world.numbers() == list(range(0, 40, 2))
    assert await world.rows() == kept


async def test_events_arrive_in_order_whole_and_under_their_own_ids(opened: Opened) -> None:
    world = opened()
    events = [started(f"{n}") for n in range(2 * BATCH + 3)]
    for n, event in enumerate(events):
        await world.change(n, event)
    world.outbox.start(world.db, world.server.as_service("broker"))
    await until(lambda: _empty(world))
    assert [TaskStarted.model_validate_json(e.body) for e in world.server.stream] == events
    assert world.streamed() == [event.id for event in events]
    assert {e.subject for e in world.server.stream} == {TaskStarted.subject}


async def _empty(world: World) -> bool:
    return not await world.rows()


async def test_a_commit_wakes_the_relay_and_its_size_is_told(opened: Opened) -> None:
    world, sizes = opened(), []
    world.outbox.lag = sizes.append
    world.outbox.start(world.db, world.server.as_service("broker"))
    await until(_is(lambda: sizes == [0]))
    event_id = await world.change(1, started())
    await until(_is(lambda: world.streamed() == [event_id]))
    await until(_is(lambda: sizes[-2:] == [1, 0]))


def _is(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        return condition()

    return holds


@pytest.mark.usefixtures("traced")
async def test_the_trace_of_who_recorded_goes_with_the_event(opened: Opened) -> None:
    world, parent = opened(), f"00-{'a' * 32}-{'b' * 16}-01"
    event = started()

    def record(c: Connection) -> str:
        with span("FIXTURE", parent):
            return world.outbox.record(c, event)

    await world.db.write(record)
    world.outbox.start(world.db, world.server.as_service("broker"))
    await until(_is(lambda: bool(world.server.stream)))
    assert world.server.stream[0].trace.split("-")[1] == "a" * 32


async def test_an_event_is_kept_while_the_bus_is_away(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    world = opened()
    world.server.away = True
    world.outbox.start(world.db, world.server.as_service("broker"))
    ids = [await world.change(n, started()) for n in range(3)]
    with pytest.raises(Unrecorded, match="did not confirm the record, so nothing was issued"):
        await world.outbox.durable(world.db, ids[0], 0.02)
    assert (await world.rows(), world.streamed()) == (ids, [])
    world.server.away = False
    await world.outbox.durable(world.db, ids[2], FAR)
    await until(lambda: _empty(world))
    assert world.streamed() == ids


class Gate(MemoryService):
    """A bus that stores an event only when it is let."""

    def __init__(self, server: MemoryBus) -> None:
        super().__init__(server, "broker")
        self.asked, self.let = asyncio.Event(), asyncio.Event()
        self.refuses: set[str] = set()

    async def publish(self, subject: str, event_id: str, body: bytes, trace: str = "") -> None:
        self.asked.set()
        await self.let.wait()
        if event_id in self.refuses:
            raise Unavailable("FIXTURE")
        await super().publish(subject, event_id, body, trace)


async def test_durable_waits_for_the_streams_word_and_then_for_nothing(opened: Opened) -> None:
    world = opened()
    gate = Gate(world.server)
    world.outbox.start(world.db, gate)
    event_id = await world.change(1, started())
    await gate.asked.wait()
    late = [asyncio.create_task(world.outbox.durable(world.db, event_id, FAR)) for _ in range(50)]
    await until(_is(lambda: len(world.outbox._waiting.get(event_id, ())) == 50))
    assert not any(task.done() for task in late), "nothing confirmed it yet"
    gate.let.set()
    async with asyncio.timeout(FAR):
        await asyncio.gather(*late)
    await until(lambda: _empty(world))
    await world.outbox.durable(world.db, event_id, 0)
    assert world.outbox._waiting == {}


async def test_who_gives_up_takes_no_other_waiter_along(opened: Opened) -> None:
    world = opened()
    gate = Gate(world.server)
    world.outbox.start(world.db, gate)
    event_id = await world.change(1, started())
    patient = asyncio.create_task(world.outbox.durable(world.db, event_id, FAR))
    leaving = asyncio.create_task(world.outbox.durable(world.db, event_id, FAR))
    await gate.asked.wait()
    with pytest.raises(Unrecorded):
        await world.outbox.durable(world.db, event_id, 0.01)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    gate.let.set()
    async with asyncio.timeout(FAR):
        await patient
    assert world.outbox._waiting == {}


async def test_one_that_the_stream_refuses_keeps_no_other_back(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    world = opened()
    gate = Gate(world.server)
    ids = [await world.change(n, started()) for n in range(3)]
    gate.refuses = {ids[1]}
    gate.let.set()
    world.outbox.start(world.db, gate)
    await world.outbox.durable(world.db, ids[2], FAR)
    with pytest.raises(Unrecorded):
        await world.outbox.durable(world.db, ids[1], 0.02)
    assert await world.rows() == [ids[1]]
    gate.refuses = set()
    await world.outbox.durable(world.db, ids[1], FAR)
    assert sorted(world.streamed()) == sorted(ids)


async def test_a_service_cannot_speak_for_another_and_keeps_what_it_may_not_say(
    opened: Opened,
) -> None:
    world = opened()
    event = GrantEnded(
        id=new_id("evt"), at=datetime.now(UTC), actor="FIXTURE", state="expired", why="FIXTURE"
    )
    await world.db.write(lambda c: world.outbox.record(c, event))
    world.outbox.start(world.db, world.server.as_service("broker"))
    with pytest.raises(Unrecorded):
        await world.outbox.durable(world.db, event.id, 0.05)
    assert (await world.rows(), world.streamed()) == ([event.id], [])


async def test_two_replicas_relay_no_event_twice(opened: Opened) -> None:
    server = MemoryBus()
    one, other = opened(server=server), opened(server=server)
    ids = [await one.change(n, started()) for n in range(20)]
    for replica in (one, other):
        replica.outbox.start(replica.db, server.as_service("broker"))
    writes = (
        world.change(100 + n, started()) for n in range(30) for world in ((one, other)[n % 2],)
    )
    ids += await asyncio.gather(*writes)
    await until(lambda: _empty(one))
    assert sorted(one.streamed()) == sorted(ids)


async def test_what_is_left_at_a_stop_waits_for_the_next_start(opened: Opened) -> None:
    first = opened()
    bus: Bus = Gate(first.server)
    first.outbox.start(first.db, bus)
    event_id = await first.change(1, started())
    await first.outbox.stop()
    next_one = opened(server=first.server)
    assert await next_one.rows() == [event_id]
    next_one.outbox.start(next_one.db, first.server.as_service("broker"))
    await next_one.outbox.durable(next_one.db, event_id, FAR)
    assert first.streamed() == [event_id]
