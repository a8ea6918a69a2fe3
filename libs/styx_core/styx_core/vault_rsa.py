"""RSA keys that live in Vault's transit engine and sign JWTs there: nothing takes them out again.

Made inside (Styx's own identity) or brought in once (a GitHub App's key). Signatures are RS256
(RFC 7518, section 3.3).
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from styx_core.vault import NoSuchSecret, Vault
from styx_core.vault_bootstrap import TRANSIT_MOUNT
from styx_core.vault_import import PREFIX, NotAKey, bring_in_key

__all__ = ["PREFIX", "NotAKey", "bring_in", "make", "public_jwk", "sign_jwt"]


async def make(vault: Vault, name: str) -> None:
    """A key of 2048 bits of this name, unless there is one."""
    try:
        await vault.get(f"{TRANSIT_MOUNT}/keys/{name}")
    except NoSuchSecret:
        await vault.post(f"{TRANSIT_MOUNT}/keys/{name}", {"type": "rsa-2048"})


async def bring_in(vault: Vault, name: str, pem: str) -> None:
    """Import a private key under a fresh name. Raises `NotAKey`."""
    key = _private(pem)
    await bring_in_key(vault, name, key, f"rsa-{key.key_size}")


async def sign_jwt(vault: Vault, name: str, claims: Mapping[str, Any], kid: str = "") -> str:
    """A JWT with these claims, signed inside Vault."""
    head = {"alg": "RS256", "typ": "JWT", **({"kid": kid} if kid else {})}
    text = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
    answer = await vault.post(
        f"{TRANSIT_MOUNT}/sign/{name}",
        {
            "input": base64.b64encode(text.encode()).decode(),
            "hash_algorithm": "sha2-256",
            "signature_algorithm": "pkcs1v15",
        },
    )
    signature = base64.b64decode(str(answer["data"]["signature"]).rpartition(":")[2])
    return f"{text}.{_encoded(signature)}"


async def public_jwk(vault: Vault, name: str) -> dict[str, str]:
    """The public half as a JWK (RFC 7517), its `kid` the thumbprint of RFC 7638."""
    data = await vault.get(f"{TRANSIT_MOUNT}/keys/{name}")
    pem = data["keys"][str(data["latest_version"])]["public_key"]
    key = serialization.load_pem_public_key(pem.encode())
    if not isinstance(key, rsa.RSAPublicKey):
        raise TypeError(f"the key {name} is not RSA")
    numbers = key.public_numbers()
    bare = {"e": _number(numbers.e), "kty": "RSA", "n": _number(numbers.n)}
    digest = hashlib.sha256(json.dumps(bare, separators=(",", ":")).encode()).digest()
    return {**bare, "alg": "RS256", "use": "sig", "kid": _encoded(digest)}


def _private(pem: str) -> rsa.RSAPrivateKey:
    try:
        key = serialization.load_pem_private_key(pem.encode(), password=None)
    except (ValueError, TypeError):
        raise NotAKey("not an RSA private key in PEM without a passphrase") from None
    if not isinstance(key, rsa.RSAPrivateKey) or key.key_size not in (2048, 3072, 4096):
        raise NotAKey("an RSA key of 2048, 3072 or 4096 bits is needed")
    return key


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
