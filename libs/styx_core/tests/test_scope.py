"""Scopes: four, none of which implies another, in one order."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.scope import EVERY, UNREADABLE, Scope, ordered

WORDS = ("read", "write", "deploy", "delete")


def test_there_are_four_and_their_names_are_their_words() -> None:
    assert tuple(Scope) == WORDS
    assert set(WORDS) == EVERY
    assert {"read"} == EVERY - UNREADABLE


@pytest.mark.parametrize("word", ["", "READ", "admin", " read", "read,write"])
def test_no_other_word_is_one(word: str) -> None:
    with pytest.raises(ValueError, match="not a valid Scope"):
        Scope(word)


def test_every_way_to_give_them_prints_the_same() -> None:
    assert {ordered(each) for each in permutations(Scope)} == {tuple(Scope)}


@given(st.lists(st.sampled_from(Scope)))
def test_order_adds_nothing_drops_nothing_and_repeats_nothing(scopes: list[Scope]) -> None:
    once = ordered(scopes)
    assert set(once) == set(scopes)
    assert len(once) == len(set(scopes))
    assert ordered(once) == once
