"""What an approver signs, and the check of it. Pure.

The signed bytes are one canonical JSON of everything that the decision means. The approver's side
makes them from what it showed the person; `grants` makes them again from its own row and compares,
so that neither a broker nor a page in between can have another thing approved. A terminal's key is
Ed25519 (RFC 8032), derived from the approver's own secret, which never leaves their side; a passkey
signs the payload's SHA-256 as its challenge.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from styx_core.errors import SignatureRefused
from styx_core.scope import Scope, ordered


def decision_payload(
    *,
    grant_id: str,
    verdict: str,
    target: str,
    env: str,
    scopes: Iterable[Scope | str],
    duration: str | None,
    command: Sequence[str],
    offer: Mapping[str, object] | None = None,
) -> str:
    """The text to sign to approve or deny a grant, or to deny it and offer another.

    `offer`: its target, env, scopes (in their order) and duration.
    """
    return _canonical(
        {
            **({} if offer is None else {"offer": offer}),
            "styx": "decision/v1",
            "grant": grant_id,
            "verdict": verdict,
            "target": target,
            "env": env,
            "scopes": list(ordered(Scope(s) for s in scopes)),
            "duration": duration,
            "command": list(command),
        }
    )


def extend_payload(*, grant_id: str, until: str) -> str:
    """The text to sign to extend a grant beyond `until` (ISO 8601, as its view gives its end)."""
    return _canonical({"styx": "extend/v1", "grant": grant_id, "until": until})


def policy_payload(*, project_id: str, toml: str, nonce: str) -> str:
    """The text to sign to replace a project's rules."""
    digest = hashlib.sha256(toml.encode()).hexdigest()
    return _canonical(
        {"styx": "policy/v1", "project": project_id, "sha256": digest, "nonce": nonce}
    )


def target_payload(
    *, project_id: str, target_id: str, name: str, provider: str, env: str, nonce: str
) -> str:
    """The text to sign to connect a target: its env decides which laws bind it."""
    return _canonical(
        {
            "styx": "target/v1",
            "project": project_id,
            "target": target_id,
            "name": name,
            "provider": provider,
            "env": env,
            "nonce": nonce,
        }
    )


def enrol_payload(*, person: str, code_sha256: str) -> str:
    """What a new passkey signs: whose it will be, and the link that it came in by."""
    return _canonical({"styx": "enrol/v1", "person": person, "code": code_sha256})


def signin_payload(*, nonce: str, session_key: str) -> str:
    """What a passkey signs to sign in: it vouches for the key of the new web session."""
    return _canonical({"styx": "signin/v1", "nonce": nonce, "session_key": session_key})


def invite_payload(
    *, code_sha256: str, person: str | None, where: str, role: str | None, seconds: int
) -> str:
    """The text to sign to invite somebody, or to add a key of one's own (`role` None)."""
    return _canonical(
        {
            "styx": "invite/v1",
            "code": code_sha256,
            "person": person,
            "where": where,
            "role": role,
            "seconds": seconds,
        }
    )


def role_payload(*, person: str, where: str, role: str | None, nonce: str) -> str:
    """The text to sign to change what somebody may do in a project."""
    said = {"person": person, "where": where, "role": role, "nonce": nonce}
    return _canonical({"styx": "role/v1", **said})


def remove_key_payload(*, key_id: str) -> str:
    """The text to sign to take a key away."""
    return _canonical({"styx": "remove-key/v1", "key": key_id})


def batch_payload(each: Sequence[str]) -> str:
    """The text to sign to make several decisions at once: the SHA-256 (hex) of their payloads."""
    return _canonical({"styx": "batch/v1", "each": list(each)})


def challenge(payload: str) -> bytes:
    """What a passkey is challenged with to sign a payload."""
    return hashlib.sha256(payload.encode()).digest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def signing_key(secret: bytes) -> Ed25519PrivateKey:
    """An approver's key, from the secret (≥ 32 bytes) that they alone hold."""
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"styx approver" + secret).digest())


def bearer(secret: bytes) -> str:
    """What an approver's side shows the broker to be let in: tells nothing of the signing key."""
    return "styx_per_" + hashlib.sha256(b"styx bearer" + secret).hexdigest()


def public_key(key: Ed25519PrivateKey) -> str:
    """The public half as base64."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def sign(key: Ed25519PrivateKey, payload: str) -> str:
    """The signature as base64."""
    return base64.b64encode(key.sign(payload.encode())).decode()


def verify(public: str, payload: str, signature: str) -> None:
    """Raises `SignatureRefused` unless the key signed exactly this."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public, validate=True))
        key.verify(base64.b64decode(signature, validate=True), payload.encode())
    except (InvalidSignature, binascii.Error, ValueError):
        raise SignatureRefused(
            "the signature is not this approver's over this very decision; "
            "look at the request again and decide anew"
        ) from None
