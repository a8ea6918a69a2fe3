"""Tokens: long, known by their kind, kept as a hash, compared in constant time."""

import hashlib
import hmac

import pytest
from styx_broker import repository
from styx_broker.tokens import fingerprint, new_token, same
from styx_core.redact import redact


def test_a_token_holds_256_bits_and_says_what_it_is() -> None:
    tokens = {new_token("tsk") for _ in range(100)}
    assert len(tokens) == 100
    assert {(t[:9], len(t)) for t in tokens} == {("styx_tsk_", 9 + 43)}


def test_a_token_is_a_shape_that_is_redacted() -> None:
    token = new_token("tsk")
    assert token not in redact(f"the agent said {token} aloud")


def test_a_fingerprint_is_the_sha256() -> None:
    assert fingerprint("FIXTURE") == hashlib.sha256(b"FIXTURE").hexdigest()


def test_two_fingerprints_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def comparing(left: bytes, right: bytes) -> bool:
        compared.append((left, right))
        return left == right

    monkeypatch.setattr(hmac, "compare_digest", comparing)
    assert same("ab", "ab")
    assert not same("ab", "é")
    assert compared == [(b"ab", b"ab"), (b"ab", "é".encode())]
    assert vars(repository)["same"] is same, "and the rows are checked with it"
