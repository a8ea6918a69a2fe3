"""Sealed boxes: a secret for one receiver, one grant and one request (HPKE, RFC 9180).

The receiving edge makes a key pair for a request and keeps the private half in memory only. `info`
binds the box to its purpose: opened under any other grant or request it fails. The KEM is the
X25519 + ML-KEM-768 hybrid, so that recorded traffic stays closed to a later quantum computer.
"""

import base64
import json
from collections.abc import Mapping
from typing import Any, Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import (
    AEAD,
    KDF,
    KEM,
    MLKEM768X25519PrivateKey,
    MLKEM768X25519PublicKey,
    Suite,
)

_SUITE = Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
_MLKEM_PUBLIC = 1184  # bytes, FIPS 203
_SEED = 64  # bytes, FIPS 203: d and z


class WontOpen(Exception):
    """The box is for another key, grant or request, or was altered."""


class OpeningKey:
    """The private half; never printed, and written down only by `seeds` into Vault."""

    def __init__(self, mlkem: MLKEM768PrivateKey, x25519: X25519PrivateKey) -> None:
        self._key = MLKEM768X25519PrivateKey(mlkem, x25519)
        self._mlkem, self._x25519 = mlkem, x25519
        self.public = base64.b64encode(
            mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()
        ).decode()

    @classmethod
    def make(cls) -> Self:
        """A fresh key pair."""
        return cls(MLKEM768PrivateKey.generate(), X25519PrivateKey.generate())

    @classmethod
    def from_seeds(cls, seeds: str) -> Self:
        """The key that `seeds` wrote."""
        raw = base64.b64decode(seeds)
        mlkem = MLKEM768PrivateKey.from_seed_bytes(raw[:_SEED])
        return cls(mlkem, X25519PrivateKey.from_private_bytes(raw[_SEED:]))

    def seeds(self) -> str:
        """The private key as base64: for Vault alone."""
        raw = self._mlkem.private_bytes_raw() + self._x25519.private_bytes_raw()
        return base64.b64encode(raw).decode()

    def open(self, box: str, info: str) -> dict[str, Any]:
        """The secret in a box. Raises `WontOpen`."""
        try:
            text = _SUITE.decrypt(base64.b64decode(box, validate=True), self._key, info.encode())
            secret = json.loads(text)
        except (InvalidTag, ValueError, RecursionError):  # the cause would quote what was opened
            raise WontOpen("this box is not for this key, grant and request") from None
        if not isinstance(secret, dict):
            raise WontOpen("the box holds something else than a secret's fields")
        return secret


def seal(secret: Mapping[str, Any], public: str, info: str) -> str:
    """A box (base64) that only the holder of `public`'s private half opens, under the same `info`.

    Raises `ValueError` when `public` isn't such a key.
    """
    text = json.dumps(secret, separators=(",", ":")).encode()
    return base64.b64encode(_SUITE.encrypt(text, _sealing_key(public), info.encode())).decode()


def _sealing_key(public: str) -> MLKEM768X25519PublicKey:
    raw = base64.b64decode(public, validate=True)
    if len(raw) != _MLKEM_PUBLIC + 32:
        raise ValueError("the sealing key has the wrong length")
    return MLKEM768X25519PublicKey(
        MLKEM768PublicKey.from_public_bytes(raw[:_MLKEM_PUBLIC]),
        X25519PublicKey.from_public_bytes(raw[_MLKEM_PUBLIC:]),
    )


def use_info(grant_id: str, exec_id: str) -> str:
    """What a credential's box is bound to."""
    return f"styx/v1/use|{grant_id}|{exec_id}"


def connect_info(target_id: str) -> str:
    """What a new target's secret is bound to."""
    return f"styx/v1/connect|{target_id}"
