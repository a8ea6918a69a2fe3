"""One SSH key pair in memory and the certificate that makes it worth something.

The private half has no way out: it isn't written, printed or handed over, it only signs, and only
while its certificate lives. Time comes in as a value.
"""

from base64 import b64decode
from datetime import datetime

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    SSHCertificate,
    SSHCertificateType,
    load_ssh_public_identity,
    load_ssh_public_key,
)

from styx_cli.ssh_agent_wire import Identity

CERTIFICATE_TYPE = "ssh-ed25519-cert-v01@openssh.com"


class Key:
    """A fresh Ed25519 key. It signs nothing until `certify`, and nothing after `forget`."""

    def __init__(self) -> None:
        self._private: Ed25519PrivateKey | None = Ed25519PrivateKey.generate()
        self._raw = self._private.public_key().public_bytes_raw()
        line = self._private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
        self.public = line.decode()
        self._blob, self._ends = b"", 0

    def certify(self, line: str, now: datetime) -> float:
        """Take an OpenSSH certificate line (its type may be missing): when it ends, in Unix time.

        Raises `ValueError` for anything but a live user certificate over this very key.
        """
        certificate = _parse(line)
        held = certificate.public_key()
        same = isinstance(held, Ed25519PublicKey) and held.public_bytes_raw() == self._raw
        if certificate.type is not SSHCertificateType.USER or not same:
            raise ValueError("the certificate isn't a user certificate for this key")
        if now.timestamp() >= certificate.valid_before:
            raise ValueError("the certificate has ended already")
        self._blob = b64decode(certificate.public_bytes().split()[1])
        self._ends = certificate.valid_before
        return float(self._ends)

    def identity(self, now: datetime) -> Identity | None:
        """What an ssh-agent may offer at `now`: None before, after and without a certificate."""
        if not self._private or not self._blob or now.timestamp() >= self._ends:
            return None
        return Identity(self._blob, self._private.sign)

    def forget(self) -> None:
        """Drop the private half for good."""
        self._private = None


def public_blob(line: str) -> bytes:
    """The blob of a bare Ed25519 public key line. Raises `ValueError`."""
    kind, _, rest = line.partition(" ")
    try:
        load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        kind = ""
    if kind != "ssh-ed25519":
        raise ValueError("that isn't an ssh-ed25519 public key")
    return b64decode(rest.split()[0])


def _parse(line: str) -> SSHCertificate:
    words = line.split()
    blob = words[1] if words[:1] == [CERTIFICATE_TYPE] and len(words) > 1 else "".join(words[:1])
    try:
        certificate = load_ssh_public_identity(f"{CERTIFICATE_TYPE} {blob}".encode())
        if not isinstance(certificate, SSHCertificate):
            raise ValueError("a bare key")
        certificate.verify_cert_signature()
    except (ValueError, UnsupportedAlgorithm, InvalidSignature):
        raise ValueError(f"that isn't a whole, signed {CERTIFICATE_TYPE} certificate") from None
    return certificate
