"""Canonical JSON: one spelling a value, and what has none is refused by its place."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_audit.entries import canonical, decode, leaf_hash

VALUES: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)
ENTRIES = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES, max_size=5)


def test_the_one_spelling() -> None:
    entry = {"b": [1, True, None], "a": {"z": 'ä\n"', "y": -1}}
    assert canonical(entry).decode() == '{"a":{"y":-1,"z":"ä\\n\\""},"b":[1,true,null]}'


def test_a_leaf_is_the_hash_of_its_bytes() -> None:
    assert leaf_hash({"a": 1}) == hashlib.sha256(b'\x00{"a":1}').digest()


@given(ENTRIES)
def test_a_round_trip_keeps_the_bytes(entry: dict[str, object]) -> None:
    data = canonical(entry)
    again = decode(data.decode())
    assert isinstance(again, dict)
    assert canonical(again) == data
    assert canonical(dict(reversed(entry.items()))) == data
    assert json.loads(data) == entry


@pytest.mark.parametrize(
    ("entry", "where"),
    [
        ({"a": 1.5}, r"entry\.a: a float"),
        ({"a": [0, float("nan")]}, r"entry\.a\[1\]: a float"),
        ({"a": {1: 2}}, r"entry\.a: the key 1"),
        ({"a": b"x"}, r"entry\.a: a bytes"),
        ({"a": "\ud800"}, "surrogate"),
    ],
)
def test_what_has_no_one_spelling_is_refused(entry: dict[str, object], where: str) -> None:
    with pytest.raises(ValueError, match=where):
        canonical(entry)


@pytest.mark.parametrize("text", ["1.5", "[NaN]", "{", "[" * 100_000])
def test_json_that_no_entry_could_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        decode(text)
