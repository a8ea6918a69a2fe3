"""A key signs a login as its own user with itself, and nothing else."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.ssh_challenge import LONGEST, METHODS, NotALogin, check_login

BLOB = b"\0\0\0\x0bssh-ed25519" + b"\0\0\0\x20" + b"k" * 32


def string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def login(
    session: bytes = b"s" * 32,
    kind: int = 50,
    user: bytes = b"deploy",
    service: bytes = b"ssh-connection",
    method: bytes = METHODS[0],
    signed: int = 1,
    key_type: bytes = b"ssh-ed25519",
    blob: bytes = BLOB,
    tail: bytes = b"",
) -> bytes:
    head = string(session) + bytes([kind]) + string(user) + string(service) + string(method)
    return head + bytes([signed]) + string(key_type) + string(blob) + tail


def check(data: bytes) -> None:
    check_login(data, "deploy", "ssh-ed25519", BLOB)


def test_a_login_of_either_method_is_one() -> None:
    check(login())
    check(login(method=METHODS[1], tail=string(b"host key")))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (login(user=b"root"), "another login name"),
        (login(user=b"deploy\0"), "another login name"),
        (login(kind=51), "something else than a login"),
        (login(session=b""), "no session"),
        (login(service=b"ssh-userauth"), "another service"),
        (login(method=b"hostbased"), "another method"),
        (login(signed=0), "another method"),
        (login(key_type=b"ssh-rsa"), "another key"),
        (login(blob=BLOB[:-1] + b"x"), "another key"),
        (login(tail=b"x"), "something follows"),
        (login(method=METHODS[1]), "ends early"),
        (b"", "ends early"),
        (b"SSHSIG" + b"\0" * 40, "ends early|no session"),
        (login(session=b"s" * LONGEST), "over"),
    ],
)
def test_anything_else_is_refused_and_says_why(data: bytes, why: str) -> None:
    with pytest.raises(NotALogin, match=why):
        check(data)


@given(st.binary(max_size=200))
def test_no_other_bytes_pass(data: bytes) -> None:
    if data != login():
        with pytest.raises(NotALogin):
            check(data)


@given(st.integers(0, len(login()) - 1))
def test_a_login_cut_short_is_none(length: int) -> None:
    with pytest.raises(NotALogin):
        check(login()[:length])
