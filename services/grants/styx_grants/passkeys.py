"""Passkeys: WebAuthn (W3C, level 3) over a challenge that is the hash of what is signed.

No attestation is asked for: which make of authenticator somebody uses is theirs to choose. User
verification is: a passkey stands for the person, not for the device.
"""

import base64
import hmac
import struct
from dataclasses import dataclass
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from fido2.server import Fido2Server
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData,
    AuthenticatorData,
    PublicKeyCredentialRpEntity,
)
from styx_core.contract.values import Assertion, Registration
from styx_core.errors import SignatureRefused
from styx_core.signing import challenge

MALFORMED = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError, AssertionError),
    *(RecursionError, struct.error, InvalidSignature, UnsupportedAlgorithm),
)
"""What reading a browser's bytes may raise: they are whatever somebody chose to send."""


@dataclass(frozen=True)
class NewPasskey:
    """What is kept of a registration: base64url id, base64 data with the public key."""

    credential_id: str
    public_key: str
    counter: int


class RelyingParty:
    """This Styx as browsers know it: one origin."""

    def __init__(self, url: str) -> None:
        self.origin = url.rstrip("/")
        host = urlsplit(url).hostname or "localhost"
        rp = PublicKeyCredentialRpEntity(id=host, name="Styx")
        self._server = Fido2Server(rp, verify_origin=self._ours)

    def _ours(self, origin: str) -> bool:
        return hmac.compare_digest(origin.encode(), self.origin.encode())

    def register(self, registration: Registration, payload: str) -> NewPasskey:
        """A new passkey that signed this payload. Raises `SignatureRefused`."""
        try:
            data = self._server.register_complete(
                _state(payload),
                {
                    "id": "",
                    "rawId": "",
                    "type": "public-key",
                    "response": {
                        "clientDataJSON": registration.client_data,
                        "attestationObject": registration.attestation_object,
                    },
                },
            )
        except MALFORMED as error:
            raise SignatureRefused(f"this passkey can't be enrolled: {_why(error)}") from None
        kept = data.credential_data
        if kept is None:
            raise SignatureRefused("this passkey can't be enrolled: it shows no key")
        return NewPasskey(
            credential_id=websafe_encode(kept.credential_id),
            public_key=base64.b64encode(bytes(kept)).decode(),
            counter=data.counter,
        )

    def check(self, assertion: Assertion, payload: str, public_key: str) -> int:
        """How often this passkey has signed by now. Raises `SignatureRefused`."""
        known = AttestedCredentialData(base64.b64decode(public_key))
        try:
            self._server.authenticate_complete(
                _state(payload),
                [known],
                {
                    "id": assertion.credential_id,
                    "rawId": assertion.credential_id,
                    "type": "public-key",
                    "response": {
                        "clientDataJSON": assertion.client_data,
                        "authenticatorData": assertion.authenticator_data,
                        "signature": assertion.signature,
                    },
                },
            )
            return AuthenticatorData(websafe_decode(assertion.authenticator_data)).counter
        except MALFORMED as error:
            raise SignatureRefused(
                f"this passkey's signature is not over this very decision ({_why(error)}); "
                "look at it again and decide anew"
            ) from None


def _state(payload: str) -> dict[str, str]:
    return {"challenge": websafe_encode(challenge(payload)), "user_verification": "required"}


_KNOWN = {
    "Wrong challenge in response.": "it signed something else",
    "Invalid origin in CollectedClientData.": "it was made for another address",
    "Wrong RP ID hash in response.": "it was made for another address",
    "Invalid signature.": "the signature is wrong",
    "Unknown credential ID.": "it is another passkey",
}


def _why(error: Exception) -> str:
    text = str(error)
    if "User" in text and "flag" in text:
        return "the person was not verified"
    return _KNOWN.get(text, "it can't be read")
