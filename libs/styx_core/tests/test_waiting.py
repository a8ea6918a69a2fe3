"""Held callers: woken by their own answer and no other, never robbed of it, and never left behind.

Nothing here waits for the clock to ask again: that takes longer than a test may.
"""

import asyncio
import contextlib
import json
from dataclasses import dataclass, field
from itertools import count

import pytest
from core_fixture import until
from prometheus_client import REGISTRY
from styx_core import waiting as module
from styx_core.contract.grants_events import GrantDecided, GrantEnded
from styx_core.errors import Unavailable
from styx_core.testing import MemoryBus
from styx_core.waiting import Waiting

FAR = 3600.0
NUMBERS = count()


@dataclass
class Place:
    """One edge's held callers, and the state that they ask for."""

    bus: MemoryBus
    waiting: Waiting
    name: str
    states: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def ask(self, grant_id: str) -> str:
        """Where a request stands."""
        self.asked.append(grant_id)
        return self.states.get(grant_id, "pending")

    async def wait(self, grant_id: str, seconds: float = FAR) -> list[str]:
        """Every answer that a held caller sees."""
        looks = self.waiting.until(
            grant_id, seconds, lambda: self.ask(grant_id), lambda state: state != "pending"
        )
        return [state async for state in looks]

    async def hold(self, *grants: str) -> list["asyncio.Task[list[str]]"]:
        """Callers that have asked once and are held now."""
        before = len(self.asked)
        tasks = [asyncio.create_task(self.wait(grant_id)) for grant_id in grants]
        await until(lambda: len(self.asked) == before + len(tasks))
        await asyncio.sleep(0)
        return tasks

    async def hear(self, grant_id: str, subject: str = GrantDecided.subject) -> None:
        """The stream tells of this grant."""
        body = json.dumps({"grant_id": grant_id}).encode()
        await self.bus.as_service("grants").publish(subject, f"evt_{next(NUMBERS)}", body)

    async def decide(self, grant_id: str, state: str = "active") -> None:
        """A row is written, then told of."""
        self.states[grant_id] = state
        await self.hear(grant_id)

    def held(self) -> float:
        """How many are held, as the gauge has it."""
        value = REGISTRY.get_sample_value("styx_callers_waiting", {"service": self.name})
        return value or 0.0


@pytest.fixture
async def place() -> Place:
    """An edge that hears decisions."""
    bus, name = MemoryBus(), f"edge-{next(NUMBERS)}"
    waiting = Waiting(name)
    await waiting.start(bus.as_service("broker"))
    return Place(bus, waiting, name)


async def ended(*tasks: "asyncio.Task[list[str]]") -> list[list[str]]:
    """What they saw; they must have ended soon."""
    async with asyncio.timeout(5):
        return await asyncio.gather(*tasks)


async def test_an_answer_wakes_exactly_who_waits_for_it(place: Place) -> None:
    mine, also_mine, other = await place.hold("a", "a", "b")
    assert place.held() == 3
    place.asked.clear()
    await place.decide("a")
    assert await ended(mine, also_mine) == [["pending", "active"]] * 2
    assert place.asked == ["a", "a"], "nobody else even asked again"
    assert not other.done()
    await place.decide("b", "denied")
    assert await ended(other) == [["pending", "denied"]]
    assert place.held() == 0


async def test_where_it_was_decided_nobody_waits_for_the_word_of_it(place: Place) -> None:
    mine, other = await place.hold("a", "b")
    place.states["a"] = "active"
    place.waiting.wake("a")
    assert await ended(mine) == [["pending", "active"]]
    assert not other.done()
    place.waiting.wake("nobody waits for it")
    await place.decide("b")
    await ended(other)


async def test_an_end_wakes_too(place: Place) -> None:
    (held,) = await place.hold("a")
    place.states["a"] = "ended"
    await place.hear("a", GrantEnded.subject)
    assert await ended(held) == [["pending", "ended"]]


async def test_what_is_decided_already_holds_nobody(place: Place) -> None:
    place.states["a"] = "active"
    assert await place.wait("a") == ["active"]
    assert place.held() == 0


async def test_what_is_heard_while_asking_is_not_lost(place: Place) -> None:
    async def ask() -> str:
        state = await place.ask("a")
        if state == "pending":  # decided just after this look at the row
            await place.decide("a")
            await asyncio.sleep(0)
        return state

    looks = place.waiting.until("a", FAR, ask, lambda state: state != "pending")
    async with asyncio.timeout(5):
        assert [state async for state in looks] == ["pending", "active"]


async def test_what_is_heard_while_an_answer_is_looked_at_is_not_lost(place: Place) -> None:
    looks = place.waiting.until("a", FAR, lambda: place.ask("a"), lambda s: s != "pending")
    seen = []
    async with asyncio.timeout(5):
        async for state in looks:
            seen.append(state)
            if state == "pending":
                await place.decide("a")
                await asyncio.sleep(0)
    assert seen == ["pending", "active"]


async def test_a_false_alarm_only_asks_again(place: Place) -> None:
    (held,) = await place.hold("a")
    await place.hear("a")
    await until(lambda: place.asked == ["a", "a"])
    await asyncio.sleep(0)
    assert not held.done()
    await place.decide("a")
    assert await ended(held) == [["pending", "pending", "active"]]


async def test_a_lost_alarm_costs_time_and_no_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "REASK_SECONDS", 0.01)
    (held,) = await place.hold("a")
    place.states["a"] = "active"
    (saw,) = await ended(held)
    assert saw[-1] == "active"


async def test_when_time_is_up_the_last_answer_stands(place: Place) -> None:
    assert await place.wait("a", 0.01) == ["pending", "pending"]
    assert await place.wait("a", 0) == ["pending"]
    assert place.held() == 0


async def test_the_last_answer_is_asked_for_after_the_time(place: Place) -> None:
    async def ask() -> str:
        state = await place.ask("a")
        place.states["a"] = "active"  # decided, and nobody hears of it
        return state

    looks = place.waiting.until("a", 0.01, ask, lambda state: state != "pending")
    assert [state async for state in looks] == ["pending", "active"]


async def test_a_caller_that_leaves_leaves_nothing_behind(place: Place) -> None:
    leaving, staying = await place.hold("a", "a")
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert place.held() == 1
    await place.decide("a")
    assert await ended(staying) == [["pending", "active"]]
    assert (place.held(), place.waiting._held) == (0, {})


async def test_a_caller_that_leaves_just_as_it_is_woken_has_left(place: Place) -> None:
    for turn in range(100):
        (leaving,) = await place.hold("a")
        await place.hear("a")
        for _ in range(turn % 3):
            await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ended(leaving)
    assert (place.held(), place.waiting._held) == (0, {})


async def test_who_stops_looking_is_let_go(place: Place) -> None:
    looks = place.waiting.until("a", FAR, lambda: place.ask("a"), lambda s: s != "pending")
    assert await anext(looks) == "pending"
    assert place.held() == 1
    async with contextlib.aclosing(looks):  # type: ignore[type-var]
        pass
    assert (place.held(), place.waiting._held) == (0, {})


async def test_an_owner_that_is_away_ends_the_wait_with_its_error(place: Place) -> None:
    async def ask() -> str:
        raise Unavailable("grants is not running")

    with pytest.raises(Unavailable):
        await anext(place.waiting.until("a", FAR, ask, lambda _s: False))
    assert (place.held(), place.waiting._held) == (0, {})


async def test_a_drain_lets_all_go_and_holds_nobody_more(place: Place) -> None:
    tasks = await place.hold("a", "a", "b", "c")
    place.waiting.drain()
    assert await ended(*tasks) == [["pending", "pending"]] * 4
    assert await ended(asyncio.create_task(place.wait("d"))) == [["pending"]]
    assert (place.held(), place.waiting._held) == (0, {})


async def test_an_event_of_no_grant_wakes_nobody(place: Place) -> None:
    (held,) = await place.hold("a")
    own = place.bus.as_service("grants")
    await own.publish(GrantDecided.subject, "evt_none", b"{}")
    await place.decide("b")
    await asyncio.sleep(0)
    assert place.asked == ["a"]
    await place.decide("a")
    await ended(held)
