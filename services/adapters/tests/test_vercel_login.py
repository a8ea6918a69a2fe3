"""What an `auth.json` of the `vercel` CLI says, read without any I/O."""

from datetime import UTC, datetime, timedelta

import pytest
from styx_adapters.vercel_login import TOKEN, instant, read_login, shaped
from styx_core.errors import LoginExpired

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
BEARER = "vca_FIXTURE0000000000000000"


def text(rest: str = "") -> str:
    return f'{{"// Note": "…", "token": "{BEARER}", "refreshToken": "FIXTURE-refresh"{rest}}}'


@pytest.mark.parametrize(
    ("rest", "ends"),
    [
        ("", None),
        (f', "expiresAt": {int(NOW.timestamp()) + 60}', NOW + timedelta(minutes=1)),
        (', "expiresAt": "soon"', None),
        (', "expiresAt": null', None),
        (', "expiresAt": 1e400', None),
        (', "expiresAt": NaN', None),
        (f', "expiresAt": {"9" * 400}', None),
    ],
)
def test_the_token_and_its_end(rest: str, ends: datetime | None) -> None:
    for before in ("", "\ufeff"):
        login = read_login(before + text(rest), "jane", NOW)
        assert (login.token, login.account, login.ends) == (BEARER, "jane", ends)
        assert "FIXTURE" not in repr(login)


@pytest.mark.parametrize("seconds", [0, 1, 3600])
def test_a_login_is_over_from_its_end_on(seconds: int) -> None:
    ended = int(NOW.timestamp()) - seconds
    with pytest.raises(LoginExpired, match="ran out"):
        read_login(text(f', "expiresAt": {ended}'), "jane", NOW)


@pytest.mark.parametrize("broken", ["", "[" * 100_000, "\0", '"FIXTURE"', '{"token": ["FIXTURE"]}'])
def test_what_is_no_login_is_logged_out(broken: str) -> None:
    with pytest.raises(LoginExpired, match="logged out") as told:
        read_login(broken, "jane", NOW)
    assert "FIXTURE" not in told.value.detail


def test_times_in_parts_of_a_second() -> None:
    assert instant(NOW.timestamp() * 1000, per_second=1000) == NOW
    assert instant(10**15, per_second=1000) is None
    assert [instant(value) for value in (0, -1, "1", None, [])] == [None] * 5


@pytest.mark.parametrize("value", [BEARER + "\n", BEARER + "-", "a" * 15, "é" * 20, 7, None])
def test_a_shape_is_held_from_end_to_end(value: object) -> None:
    assert shaped(TOKEN, BEARER) == BEARER
    assert shaped(TOKEN, value) is None
