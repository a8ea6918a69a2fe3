"""The ssh-agent protocol as values: what is answered, and what is refused."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_cli.ssh_agent_wire import Identity, answer, string

ME = Identity(b"the-blob", lambda data: b"signed:" + data)
SIGN = bytes([13]) + string(b"the-blob") + string(b"data") + struct.pack(">I", 0)
FAILURE = bytes([5])


def test_lists_the_one_identity() -> None:
    assert answer(b"\x0b", ME) == b"\x0c\x00\x00\x00\x01" + string(b"the-blob") + string(b"styx")
    assert answer(b"\x0b", None) == b"\x0c\x00\x00\x00\x00"


def test_signs_for_the_certificate() -> None:
    signature = string(b"ssh-ed25519") + string(b"signed:data")
    assert answer(SIGN, ME) == b"\x0e" + string(signature)


@pytest.mark.parametrize(
    "request_",
    [
        b"",
        b"\x0bmore",
        SIGN[:-1],
        SIGN + b"x",
        SIGN.replace(b"the-blob", b"not-mine"),
        bytes([13]) + struct.pack(">I", 0xFFFFFFFF),
        *(bytes([kind]) + SIGN[1:] for kind in (17, 18, 19, 20, 21, 22, 23, 25, 26, 27)),
    ],
)
def test_everything_else_fails(request_: bytes) -> None:
    assert answer(request_, ME) == FAILURE


def test_signs_nothing_without_an_identity() -> None:
    assert answer(SIGN, None) == FAILURE


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer_and_only_the_blob_signs(request_: bytes) -> None:
    reply = answer(request_, ME)
    assert reply[0] in (5, 12, 14)
    assert reply[0] != 14 or string(b"the-blob") in request_
