"""The outbox at its awkward moments: stopped as it wakes, asked as it finishes, far behind.

Each of these once went wrong: a stop that was lost, a caller that waited for what was done, a gauge
that knew of one batch only.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from core_fixture import METADATA, OUTBOX, Held, add, started, until, url
from styx_core import outbox as module
from styx_core.db import Database
from styx_core.outbox import BATCH, Outbox
from styx_core.testing import MemoryBus, tables

ROUNDS = 300


@dataclass
class Place:
    """A database, its outbox, and the bus."""

    db: Database
    outbox: Outbox
    bus: MemoryBus = field(default_factory=MemoryBus)

    def start(self) -> None:
        """Relay, as `broker`."""
        self.outbox.start(self.db, self.bus.as_service("broker"))

    async def say(self, number: int) -> str:
        """Commit a row and its event; returns the event's id."""
        return await self.db.write(lambda c: self.outbox.record(c, started(add(number)(c))))

    def told(self) -> list[str]:
        """The ids of what the stream holds."""
        return [event.event_id for event in self.bus.stream]


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    """An outbox that doesn't relay yet."""
    outbox = Outbox(OUTBOX)
    here = Place(Database(tables(url(tmp_path), METADATA), outbox.wake), outbox)
    yield here
    await outbox.stop()
    await here.db.close()


async def stopped(place: Place) -> None:
    """Stop relaying, at once."""
    async with asyncio.timeout(5) as bound:
        await place.outbox.stop()
    assert not bound.expired(), "the stop was lost"


async def test_a_stop_is_heard_just_as_somebody_ends_the_gathering(place: Place) -> None:
    for turn in range(ROUNDS):
        place.start()
        for _ in range(turn % 4):
            await asyncio.sleep(0)
        await place.outbox.durable(place.db, "evt", 0)  # nothing is recorded, but it hurries
        await stopped(place)


async def test_a_stop_is_heard_just_as_the_gathering_runs_out_of_time(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(module, "GATHER_SECONDS", 0.001)
    for turn in range(ROUNDS):
        place.start()
        over = asyncio.Event()
        loop.call_later(0.0009 + turn % 7 * 0.0001, over.set)
        await over.wait()
        await stopped(place)


async def test_a_stop_leaves_what_was_not_told_for_the_next_start(place: Place) -> None:
    for turn in range(20):
        event_id = await place.say(turn)
        place.start()
        for _ in range(turn):
            await asyncio.sleep(0)
        await place.outbox.stop()
        place.start()
        await place.outbox.durable(place.db, event_id, 10)
        await place.outbox.stop()
    assert len(place.told()) == 20


async def test_who_waits_after_the_telling_is_let_go_with_the_crossing_off(place: Place) -> None:
    event_id = await place.say(1)
    held = Held()
    holding = asyncio.create_task(place.db.write(held))
    await until(held.reached.is_set)
    place.start()
    await until(lambda: place.told() == [event_id])
    late = asyncio.create_task(place.outbox.durable(place.db, event_id, 10))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not late.done(), "its row still stands, behind the write that is held"
    held.let_go.set()
    await late
    await holding


async def test_the_gauge_counts_all_that_wait(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
    seen: list[int] = []
    place.outbox.lag = seen.append
    place.bus.away = True
    count = BATCH + 30
    await asyncio.gather(*(place.say(n) for n in range(count)))
    place.start()
    await until(lambda: len(seen) > 1)
    assert set(seen) == {count}, "not only the next batch"
    place.bus.away = False
    await until(lambda: seen[-1] == 0)
    assert 30 in seen
    assert len(place.told()) == count
