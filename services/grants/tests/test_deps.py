"""The time that grants are judged by never steps back."""

from datetime import UTC, timedelta

from played_adapters import START, Clock
from styx_grants.deps import SteadyClock

DAY = timedelta(days=1)


def test_it_follows_the_wall_clock_forward() -> None:
    wall = Clock()
    steady = SteadyClock(wall)
    wall.on(DAY)
    assert steady() == START + DAY
    assert steady().tzinfo is UTC


def test_set_back_it_goes_on_from_the_latest_time_seen() -> None:
    wall = Clock()
    steady = SteadyClock(wall)
    wall.on(DAY)
    latest = steady()
    wall.on(-10 * DAY)
    first, second = steady(), steady()
    assert latest <= first <= second


def test_set_back_before_anybody_looked_it_keeps_to_its_start() -> None:
    wall = Clock()
    steady = SteadyClock(wall)
    wall.on(-DAY)
    assert steady() >= START


def test_when_the_wall_clock_is_ahead_again_it_is_followed_again() -> None:
    wall = Clock()
    steady = SteadyClock(wall)
    wall.on(-DAY)
    steady()
    wall.on(3 * DAY)
    assert steady() == START + 2 * DAY
