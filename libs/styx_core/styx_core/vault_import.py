"""Bringing a private key into Vault's transit engine, from where nothing takes it out again.

It is wrapped on the way by Vault's own key (OpenBao, "transit: bring your own key"): a fresh
AES-256 key by RSA-OAEP with SHA-256, and under it the PKCS #8 key by AES key wrap with padding
(RFC 5649).
"""

import base64
import secrets

from cryptography.hazmat.primitives import hashes, keywrap, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from styx_core.vault import Vault
from styx_core.vault_bootstrap import TRANSIT_MOUNT

PREFIX = "adapters-"
"""Every key's name begins so: the policy of `adapters` reaches no other."""


class NotAKey(ValueError):
    """The text is no private key that transit takes."""


async def bring_in_key(
    vault: Vault, name: str, key: rsa.RSAPrivateKey | Ed25519PrivateKey, kind: str
) -> None:
    """Import a key under a fresh name; `kind` is transit's word for its type."""
    pem = await vault.transit_wrapping_key()
    wrapping = serialization.load_pem_public_key(pem.encode())
    if not isinstance(wrapping, rsa.RSAPublicKey):
        raise TypeError("Vault's wrapping key is not RSA")
    plain = key.private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    under = secrets.token_bytes(32)
    oaep = padding.OAEP(padding.MGF1(hashes.SHA256()), hashes.SHA256(), None)
    wrapped = wrapping.encrypt(under, oaep) + keywrap.aes_key_wrap_with_padding(under, plain)
    await vault.post(
        f"{TRANSIT_MOUNT}/keys/{name}/import",
        {
            "type": kind,
            "ciphertext": base64.b64encode(wrapped).decode(),
            "hash_function": "SHA256",
            "exportable": False,
        },
    )
