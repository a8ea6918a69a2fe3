"""For tests: Vault in memory, as far as an adapter uses it. A fake: it refuses what isn't there."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from styx_core.vault import NoSuchSecret, VaultError


@dataclass
class MemoryVault:
    """Vault's KV mount; `trouble` is raised instead of an answer."""

    held: dict[str, dict[str, Any]] = field(default_factory=dict)
    trouble: VaultError | None = None
    ca: str = "ssh-ed25519 FIXTURE-ca"
    keys: dict[str, RSAPrivateKey] = field(default_factory=dict)

    async def read(self, path: str) -> dict[str, Any]:
        """What is there."""
        self._check()
        if path not in self.held:
            raise NoSuchSecret(f"nothing in Vault for read {path}")
        return self.held[path]

    async def write(self, path: str, secret: Mapping[str, Any]) -> None:
        """Put it there."""
        self._check()
        self.held[path] = dict(secret)

    async def delete(self, path: str) -> None:
        """Take it away, whether or not it is there."""
        self._check()
        self.held.pop(path, None)

    async def ssh_ca_public_key(self) -> str:
        """A line for sshd."""
        self._check()
        return self.ca

    async def get(self, path: str) -> Any:
        """A transit key's public half."""
        self._check()
        if path not in self.keys:
            raise NoSuchSecret(f"nothing in Vault for read {path}")
        public = self.keys[path].public_key()
        pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
        return {"latest_version": 1, "keys": {"1": {"public_key": pem}}}

    async def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Make a transit key, or sign with it."""
        self._check()
        signing = path.replace("/sign/", "/keys/")
        if path == signing:
            self.keys[path] = rsa.generate_private_key(65537, 2048)
            return None
        data = base64.b64decode(body["input"])
        made = self.keys[signing].sign(data, PKCS1v15(), SHA256())
        return {"data": {"signature": "vault:v1:" + base64.b64encode(made).decode()}}

    def _check(self) -> None:
        if self.trouble is not None:
            raise self.trouble
