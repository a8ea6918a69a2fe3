"""A passkey in software: the bytes that a browser and its authenticator make (WebAuthn, level 3).

It does what it is told, wrongly too: another origin, nobody verified, a counter that stands still.
"""

import base64
import hashlib
import json
import os
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from fido2 import cbor
from fido2.cose import ES256
from styx_core.contract.values import Assertion, Registration, SessionSignature
from styx_core.signing import challenge

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def base64url(raw: bytes) -> str:
    """Without padding."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


@dataclass
class SoftPasskey:
    """One credential at one site."""

    origin: str
    host: str
    flags: int = PRESENT | VERIFIED
    counter: int = 0
    step: int = 1
    id: bytes = field(default_factory=lambda: os.urandom(16))
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def register(self, payload: str, label: str = "soft") -> Registration:
        """What a browser sends for a new passkey."""
        public = cbor.encode(dict(ES256.from_cryptography_key(self.key.public_key())))
        attested = bytes(16) + len(self.id).to_bytes(2, "big") + self.id + public
        whole = {"fmt": "none", "attStmt": {}, "authData": self._data(ATTESTED) + attested}
        return Registration(
            label=label,
            client_data=base64url(self._client("webauthn.create", payload)),
            attestation_object=base64url(cbor.encode(whole)),
        )

    def sign(self, payload: str) -> Assertion:
        """What a browser sends when its person touched the key."""
        self.counter += self.step
        data, client = self._data(), self._client("webauthn.get", payload)
        signed = data + hashlib.sha256(client).digest()
        return Assertion(
            credential_id=base64url(self.id),
            client_data=base64url(client),
            authenticator_data=base64url(data),
            signature=base64url(self.key.sign(signed, ec.ECDSA(hashes.SHA256()))),
        )

    def _data(self, more: int = 0) -> bytes:
        head = hashlib.sha256(self.host.encode()).digest()
        return head + bytes([self.flags | more]) + self.counter.to_bytes(4, "big")

    def _client(self, kind: str, payload: str) -> bytes:
        said = {"type": kind, "challenge": base64url(challenge(payload)), "origin": self.origin}
        return json.dumps({**said, "crossOrigin": False}).encode()


@dataclass
class SoftSession:
    """The key that a browser makes at sign-in, and never shows."""

    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    @property
    def point(self) -> str:
        """Its public half, base64."""
        numbers = self.key.public_key().public_numbers()
        raw = b"\x04" + numbers.x.to_bytes(32, "big") + numbers.y.to_bytes(32, "big")
        return base64.b64encode(raw).decode()

    @property
    def id(self) -> str:
        """What `grants` calls it."""
        return hashlib.sha256(self.point.encode()).hexdigest()

    def sign(self, payload: str) -> SessionSignature:
        """As WebCrypto signs: r and s, 32 bytes each."""
        r, s = decode_dss_signature(self.key.sign(payload.encode(), ec.ECDSA(hashes.SHA256())))
        raw = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return SessionSignature(session=self.id, signature=base64url(raw))
