"""Ids: UUIDv7 by RFC 9562, in letters that sort as their times do."""

import re
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter
from styx_core import ids
from styx_core.contract.values import Id
from styx_core.ids import new_id

LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def number(made: str) -> int:
    """The 128 bits that an id spells (Crockford base32)."""
    value = 0
    for letter in made.partition("_")[2]:
        value = value * 32 + LETTERS.index(letter)
    return value


def at(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> str:
    """An id of this moment."""
    monkeypatch.setattr(ids.time, "time_ns", lambda: nanoseconds)
    return new_id("grt")


def test_it_is_its_kind_and_a_uuid_of_version_7() -> None:
    before = time.time_ns() // 1_000_000
    made = new_id("tsk")
    read = uuid.UUID(int=number(made))
    assert re.fullmatch(r"tsk_[0-9a-hjkmnp-tv-z]{26}", made)
    assert (read.version, read.variant) == (7, uuid.RFC_4122)
    assert before <= read.int >> 80 <= time.time_ns() // 1_000_000


def test_the_contract_takes_it_and_nothing_like_it() -> None:
    check = TypeAdapter(Id)
    made = new_id("grt")
    assert check.validate_python(made) == made
    near = (made.upper(), made[:-1], made + "0", made[1:], made.replace("_", "-"), made + "\n")
    for wrong in (*near, made[:-1] + "u", f" {made}", ""):
        with pytest.raises(ValueError, match="should match"):
            check.validate_python(wrong)


def test_no_two_are_the_same_even_in_one_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(ids.time, "time_ns", lambda: now)
    assert len({new_id("evt") for _ in range(20_000)}) == 20_000


@given(st.lists(st.integers(0, 2**48 - 1), min_size=2, max_size=20, unique=True))
def test_they_sort_as_their_milliseconds_do(moments: list[int]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        made = {moment: at(patched, moment * 1_000_000) for moment in moments}
    assert sorted(made.values()) == [made[moment] for moment in sorted(moments)]
    assert {number(each) >> 80 for each in made.values()} == set(moments)
