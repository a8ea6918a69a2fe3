"""Daily windows, and the values that a rule refuses."""

import pytest
from styx_grants.policy_terms import Effect, Hours, Match, Rule


def holds(hours: Hours, day: int, hour: int, minute: int = 0) -> bool:
    return hours.holds(day % 7, hour * 60 + minute)


def test_a_window_has_its_start_and_not_its_end() -> None:
    office = Hours(9 * 60, 17 * 60)
    assert holds(office, 0, 9)
    assert holds(office, 6, 16, 59)
    assert not holds(office, 0, 8, 59)
    assert not holds(office, 0, 17)


def test_a_window_over_midnight_belongs_to_the_day_it_opens() -> None:
    friday_night = Hours(22 * 60, 6 * 60, frozenset({4}))
    assert holds(friday_night, 4, 22)
    assert holds(friday_night, 5, 5, 59)
    assert not holds(friday_night, 5, 6)
    assert not holds(friday_night, 4, 5), "Thursday's night"
    assert not holds(friday_night, 5, 22)
    sunday_night = Hours(22 * 60, 6 * 60, frozenset({6}))
    assert holds(sunday_night, 7, 2), "Monday"


def test_whole_and_empty_windows() -> None:
    assert holds(Hours(0, 1440), 0, 23, 59)
    assert not holds(Hours(60, 60), 0, 1)
    assert not holds(Hours(0, 1440, frozenset()), 0, 1)


@pytest.mark.parametrize(("start", "end"), [(-1, 5), (1440, 5), (0, 1441)])
def test_minutes_beyond_the_day_are_refused(start: int, end: int) -> None:
    with pytest.raises(ValueError, match="not minutes of a day"):
        Hours(start, end)


def test_values_that_could_be_misread_are_refused() -> None:
    with pytest.raises(ValueError, match="days are 0"):
        Hours(0, 60, frozenset({7}))
    with pytest.raises(ValueError, match="'live' is no Env; use prod"):
        Match(env=frozenset({"live"}))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one or more words"):
        Match(command=())
    with pytest.raises(ValueError, match="quorum is 0"):
        Rule("r", Effect.ASK, quorum=0)
    with pytest.raises(ValueError, match="max_seconds is 0"):
        Rule("r", Effect.ASK, max_seconds=0)
    with pytest.raises(ValueError, match="printable"):
        Rule("two\nlines", Effect.ASK)
    with pytest.raises(ValueError, match="'deny' is no Effect; use allow"):
        Rule("r", "deny")  # type: ignore[arg-type]
