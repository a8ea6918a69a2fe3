"""When grants end: durations, the idle hour, a request's own life, and clocks that step back."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_grants.deadlines import (
    DEFAULT,
    IDLE,
    ONCE_WINDOW,
    REQUEST_LIFE,
    Duration,
    GrantView,
    due,
    ends_at,
    expires_at,
    steady,
)
from styx_grants.machine import State, Step, apply

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
spans = st.integers(0, 48 * 3600).map(lambda seconds: timedelta(seconds=seconds))


def active(duration: Duration, used: datetime | None = None, **limits: int) -> GrantView:
    return GrantView(
        state=State.ACTIVE,
        duration=duration,
        requested_at=NOON - 20 * MINUTE,
        approved_at=NOON,
        expires_at=expires_at(duration, NOON, **limits),
        last_used_at=used,
    )


@pytest.mark.parametrize(
    ("duration", "length"),
    [
        ("once", ONCE_WINDOW),
        ("15m", 15 * MINUTE),
        ("1h", 60 * MINUTE),
        ("8h", 480 * MINUTE),
        ("task", None),
        ("always", None),
    ],
)
def test_the_clock_starts_at_approval(duration: str, length: timedelta | None) -> None:
    assert expires_at(Duration(duration), NOON) == (NOON + length if length else None)


def test_an_hour_is_the_default_and_a_policy_limit_shortens_any_duration() -> None:
    assert DEFAULT == "1h"
    for duration in Duration:
        limited = expires_at(duration, NOON, max_seconds=60)
        assert limited == NOON + MINUTE
    assert expires_at(Duration.QUARTER, NOON, max_seconds=9999) == NOON + 15 * MINUTE


def test_it_expires_at_its_time_and_not_before() -> None:
    view = active(Duration.QUARTER)
    assert due(view, NOON + 15 * MINUTE - timedelta(microseconds=1)) is None
    assert due(view, NOON + 15 * MINUTE) is Step.EXPIRE


def test_an_hour_without_use_ends_all_but_a_standing_grant() -> None:
    for duration in (Duration.EIGHT_HOURS, Duration.TASK):
        assert due(active(duration), NOON + IDLE - MINUTE) is None
        assert due(active(duration), NOON + IDLE) is Step.IDLE
        used = active(duration, used=NOON + 30 * MINUTE)
        assert due(used, NOON + IDLE) is None
        assert due(used, NOON + IDLE + 30 * MINUTE) is Step.IDLE
    assert due(active(Duration.ALWAYS), NOON + 10_000 * IDLE) is None


def test_only_a_standing_grant_has_no_end() -> None:
    for duration in Duration:
        assert (ends_at(active(duration)) is None) is duration.standing
    assert ends_at(active(Duration.EIGHT_HOURS)) == NOON + IDLE
    assert ends_at(active(Duration.ALWAYS, max_seconds=60)) == NOON + MINUTE


def test_a_request_times_out_by_its_own_life() -> None:
    view = GrantView(State.PENDING, Duration.HOUR, NOON)
    assert due(view, NOON + REQUEST_LIFE - MINUTE) is None
    assert due(view, NOON + REQUEST_LIFE) is Step.TIME_OUT


@pytest.mark.parametrize("state", set(State) - {State.PENDING, State.ACTIVE})
def test_what_is_over_has_nothing_due(state: State) -> None:
    view = GrantView(state, Duration.HOUR, NOON, NOON, NOON, NOON)
    assert due(view, NOON + 100 * REQUEST_LIFE) is None
    assert ends_at(GrantView(state, Duration.TASK, NOON, NOON)) is None


@given(st.sampled_from(Duration), spans, spans, spans)
def test_a_clock_set_back_prolongs_nothing(
    duration: Duration, used: timedelta, passed: timedelta, back: timedelta
) -> None:
    """What is due at a time stays due however far the wall clock is then set back."""
    view = active(duration, used=NOON + min(used, passed))
    honest = NOON + passed
    assert due(view, honest - back, seen=honest) == due(view, honest)


@given(spans, spans, spans)
def test_steady_time_runs_on_while_the_wall_clock_is_behind(
    back: timedelta, elapsed: timedelta, more: timedelta
) -> None:
    seen = NOON
    first = steady(seen - back + elapsed, seen, elapsed)
    later = steady(seen - back + elapsed + more, seen, elapsed + more)
    assert first == seen + elapsed
    assert later - first == more
    assert steady(NOON, NOON, -MINUTE) == NOON


@given(st.sampled_from(Duration), spans)
def test_what_is_due_is_a_legal_step(duration: Duration, passed: timedelta) -> None:
    for view in (active(duration), GrantView(State.PENDING, duration, NOON)):
        step = due(view, NOON + passed)
        if step is not None:
            assert apply(view.state, step).state is State.EXPIRED


def test_an_active_grant_without_its_times_is_refused() -> None:
    with pytest.raises(ValueError, match="when it was approved"):
        GrantView(State.ACTIVE, Duration.HOUR, NOON)
    with pytest.raises(ValueError, match="for 1h must say when it expires"):
        GrantView(State.ACTIVE, Duration.HOUR, NOON, NOON)
