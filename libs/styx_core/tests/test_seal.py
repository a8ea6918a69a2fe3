"""A box opens for its own key under its own grant and request, and for nothing else."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from styx_core import seal as sealing
from styx_core.contract.values import Word
from styx_core.nats_conf import MAX_PAYLOAD
from styx_core.seal import OpeningKey, WontOpen, connect_info, seal, use_info

KEY, OTHER = OpeningKey.make(), OpeningKey.make()
INFO = use_info("grt_1", "exe_1")
SECRET = {"AWS_SECRET_ACCESS_KEY": "FIXTURE-secret", "AWS_SESSION_TOKEN": "FIXTURE-token"}
BOX = seal(SECRET, KEY.public, INFO)
RAW = base64.b64decode(BOX)
ENCAPSULATED = 1088 + 32
"""Bytes: an ML-KEM-768 ciphertext (FIPS 203) and an X25519 public key."""
TAG = 16

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(st.text(), JSON, max_size=4), st.text(), st.text())
def test_what_goes_in_comes_out(secret: dict[str, Any], grant: str, call: str) -> None:
    info = use_info(grant, call)
    assert KEY.open(seal(secret, KEY.public, info), info) == secret


def test_the_same_secret_never_makes_the_same_box() -> None:
    assert len({seal(SECRET, KEY.public, INFO) for _ in range(20)}) == 20


def test_nothing_of_the_secret_can_be_read_in_the_box_but_its_length() -> None:
    assert b"FIXTURE" not in RAW
    text = json.dumps(SECRET, separators=(",", ":"))
    assert len(RAW) == ENCAPSULATED + len(text) + TAG


def test_another_edges_key_opens_nothing() -> None:
    with pytest.raises(WontOpen, match="not for this key, grant and request"):
        OTHER.open(BOX, INFO)


@pytest.mark.parametrize(
    "info",
    [
        use_info("grt_2", "exe_1"),
        use_info("grt_1", "exe_2"),
        use_info("exe_1", "grt_1"),
        use_info("grt_1", "exe_1 "),
        connect_info("grt_1"),
        "",
        "\ud800",
    ],
)
def test_another_purpose_opens_nothing(info: str) -> None:
    with pytest.raises(WontOpen):
        KEY.open(BOX, info)
    assert KEY.open(BOX, INFO) == SECRET


def test_ids_of_the_contract_make_purposes_that_no_others_share() -> None:
    """Ids hold no `|`, so that one pair can't be written as another."""
    pairs = [("a", "b"), ("a", "c"), ("b", "a"), ("ab", ""), ("", "ab")]
    made = [use_info(*pair) for pair in pairs] + [connect_info(grant) for grant, _ in pairs]
    assert len({*made}) == len(pairs) + 4, "`a` is twice the first of a pair"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(RAW) * 8 - 1))
def test_one_flipped_bit_is_noticed_wherever_it_stands(bit: int) -> None:
    altered = bytearray(RAW)
    altered[bit // 8] ^= 1 << bit % 8
    with pytest.raises(WontOpen):
        KEY.open(base64.b64encode(altered).decode(), INFO)


@pytest.mark.parametrize(
    "length", [0, 1, 31, 32, ENCAPSULATED - 1, ENCAPSULATED, ENCAPSULATED + TAG - 1, len(RAW) - 1]
)
def test_a_piece_of_a_box_opens_nothing(length: int) -> None:
    with pytest.raises(WontOpen):
        KEY.open(base64.b64encode(RAW[:length]).decode(), INFO)


NO_BOX = {
    "empty": "",
    "one letter": "A",
    "only padding": "=",
    "no base64": "no base64!",
    "no ascii": "é" * 40,
    "null": "\0",
    "cut": BOX[:-3],
    "more behind it": BOX + "A",
    "two": BOX + BOX,
    "line ends within": f"{BOX[:76]}\n{BOX[76:]}",
    "huge": "A" * 3_000_000,
}


@pytest.mark.parametrize("box", NO_BOX.values(), ids=list(NO_BOX))
def test_what_is_no_box_opens_nothing(box: str) -> None:
    with pytest.raises(WontOpen):
        KEY.open(box, INFO)


@pytest.mark.parametrize("inside", [["FIXTURE"], "FIXTURE", 7, None])
def test_a_box_with_something_else_than_fields_is_refused(inside: Any) -> None:
    box = seal(inside, KEY.public, INFO)
    with pytest.raises(WontOpen, match="something else than a secret's fields") as refused:
        KEY.open(box, INFO)
    assert "FIXTURE" not in str(refused.value)


def test_the_longest_secret_that_a_wire_carries_comes_through() -> None:
    word = Word.__metadata__[0].max_length
    box = seal({"private_key": "F" * word}, KEY.public, INFO)
    assert len(KEY.open(box, INFO)["private_key"]) == word
    assert len(box) < MAX_PAYLOAD


def test_a_key_is_written_down_and_read_again() -> None:
    again = OpeningKey.from_seeds(KEY.seeds())
    assert again.public == KEY.public
    assert again.open(BOX, INFO) == SECRET
    assert OpeningKey.make().public != OpeningKey.make().public
    assert KEY.seeds() not in repr(KEY) + str(vars(OpeningKey))


@pytest.mark.parametrize("seeds", ["", "AAAA", "no base64!", base64.b64encode(b"x" * 200).decode()])
def test_what_is_no_key_is_refused(seeds: str) -> None:
    with pytest.raises(ValueError):
        OpeningKey.from_seeds(seeds)


@pytest.mark.parametrize(
    "public",
    [
        "",
        "no base64!",
        KEY.public[:-4],
        KEY.public + "AAAA",
        "é" * 100,
        base64.b64encode(b"\xff" * 1216).decode(),
        base64.b64encode(base64.b64decode(KEY.public)[:1184] + bytes(32)).decode(),
    ],
    ids=["empty", "no base64", "short", "long", "no ascii", "no ML-KEM key", "X25519 of low order"],
)
def test_nothing_is_sealed_to_what_is_no_sealing_key(public: str) -> None:
    with pytest.raises(ValueError) as refused:
        seal(SECRET, public, INFO)
    assert "FIXTURE" not in str(refused.value)


@pytest.mark.parametrize(
    "inside", [b"[" * 100_000, b'{"a":' * 100_000, b"\xffFIXTURE", b"FIXTURE-no-json", b""]
)
def test_what_was_opened_and_is_no_secret_is_never_quoted(inside: bytes) -> None:
    key = sealing._sealing_key(KEY.public)
    box = base64.b64encode(sealing._SUITE.encrypt(inside, key, b"info")).decode()
    with pytest.raises(WontOpen) as refused:
        KEY.open(box, "info")
    assert "FIXTURE" not in str(refused.value)
    assert refused.value.__cause__ is None
