"""Rate limits on a clock of the test's own: so many a minute, refilled evenly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.errors import RateLimited
from styx_core.ratelimit import MINUTE, RateLimit

SAYS = "too many access requests"


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Limited:
    """A limit and its clock."""

    def __init__(self, **per_minute: int) -> None:
        self.clock = Clock()
        self.limit = RateLimit(per_minute, self.clock)

    def let(self, times: int, caller: str = "tsk_1", kind: str = "ask") -> int:
        """How many of so many calls go through."""
        through = 0
        for _ in range(times):
            try:
                self.limit.take(caller, kind, SAYS)
                through += 1
            except RateLimited:
                pass
        return through


def test_a_minutes_worth_goes_at_once_and_then_none_until_time_passes() -> None:
    here = Limited(ask=5)
    assert here.let(20) == 5
    here.clock.now += MINUTE / 5 - 0.001
    assert here.let(1) == 0
    here.clock.now += 0.002
    assert here.let(20) == 1
    here.clock.now += MINUTE
    assert here.let(20) == 5
    here.clock.now += 1000 * MINUTE
    assert here.let(20) == 5, "what isn't used is not saved up"


def test_a_refusal_says_what_and_when_and_that_it_passes() -> None:
    here = Limited(ask=1)
    assert here.let(1) == 1
    with pytest.raises(RateLimited) as refused:
        here.limit.take("tsk_1", "ask", SAYS)
    assert refused.value.detail == "too many access requests; try again in a minute"
    assert refused.value.retryable


def test_being_refused_costs_nothing_more() -> None:
    here = Limited(ask=2)
    assert here.let(500) == 2
    here.clock.now += MINUTE / 2
    assert here.let(500) == 1


def test_callers_and_kinds_are_apart_and_an_unlimited_kind_is_free() -> None:
    here = Limited(ask=2, look=3)
    assert here.let(9) == 2
    assert here.let(9, kind="look") == 3
    assert here.let(9, caller="tsk_2") == 2
    assert here.let(99, kind="of no limit") == 99
    assert here.let(9) == 0


def test_a_limit_of_none_lets_none() -> None:
    here = Limited(ask=0)
    assert here.let(3) == 0
    here.clock.now += 10 * MINUTE
    assert here.let(3) == 0


def test_the_idle_are_forgotten_and_the_busy_are_not() -> None:
    here = Limited(ask=1)
    for number in range(10_000):
        here.let(1, caller=f"tsk_{number}")
    here.clock.now += MINUTE - 1
    assert here.let(1, caller="busy") == 1
    assert len(here.limit._buckets) == 10_001, "each might still be refused"
    here.clock.now += 2
    here.let(1, caller="late")
    assert set(here.limit._buckets) == {("busy", "ask"), ("late", "ask")}
    assert here.let(1, caller="busy") == 0


@given(
    st.integers(1, 30),
    st.lists(st.floats(0, 2 * MINUTE, allow_nan=False), min_size=1, max_size=60),
)
def test_no_stretch_of_time_lets_more_through_than_its_share(most: int, waits: list[float]) -> None:
    here, times = Limited(ask=most), []
    for wait in waits:
        here.clock.now += wait
        times += [here.clock.now] * here.let(3)
    for at, first in enumerate(times):
        for upto, last in enumerate(times[at:], 1):
            assert upto <= most + (last - first) * most / MINUTE + 1e-6
