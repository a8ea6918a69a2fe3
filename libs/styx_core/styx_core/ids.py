"""Ids: UUIDv7 (RFC 9562), so that they sort by time, prefixed by kind (`grt_…`, `tsk_…`)."""

import os
import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(kind: str) -> str:
    """A fresh id of a kind: three letters, then 128 bits in Crockford base32, sortable by time."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = milliseconds << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76  # version 7
    value = value & ~(0x3 << 62) | 0x2 << 62  # variant
    letters = []
    for _ in range(26):
        value, digit = divmod(value, 32)
        letters.append(_ALPHABET[digit])
    return f"{kind}_{''.join(reversed(letters))}"


def new_nonce() -> str:
    """What keeps a signature from being played again: 128 random bits."""
    return secrets.token_urlsafe(16)
