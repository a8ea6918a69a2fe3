"""A key and its certificate against a clock that the test holds."""

import base64
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    SSHCertificateBuilder,
    SSHCertificateType,
    load_ssh_public_key,
)
from styx_cli.ssh_key import Key

START, END = 1_800_000_000, 1_800_000_900
CA = Ed25519PrivateKey.generate()


def at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def certificate(public: str, kind: SSHCertificateType = SSHCertificateType.USER) -> str:
    held = load_ssh_public_key(public.encode())
    builder = SSHCertificateBuilder().public_key(held).type(kind)  # type: ignore[arg-type]
    builder = builder.valid_principals([b"deploy"]).valid_after(START).valid_before(END)
    return builder.serial(1).key_id(b"grt_1").sign(CA).public_bytes().decode()


def test_offers_itself_only_while_its_certificate_lives() -> None:
    key = Key()
    line = certificate(key.public)
    assert key.identity(at(START)) is None
    assert key.certify(line, at(START)) == END
    identity = key.identity(at(END - 1))
    assert identity
    assert identity.blob == base64.b64decode(line.split()[1])
    assert len(identity.sign(b"data")) == 64
    assert key.identity(at(END)) is None


def test_a_forgotten_key_offers_nothing() -> None:
    key = Key()
    key.certify(certificate(key.public), at(START))
    key.forget()
    assert key.identity(at(START)) is None


def test_a_host_certificate_and_a_forged_one_are_refused() -> None:
    key = Key()
    with pytest.raises(ValueError, match="user certificate"):
        key.certify(certificate(key.public, SSHCertificateType.HOST), at(START))
    kind, blob = certificate(key.public).split()[:2]
    forged = bytearray(base64.b64decode(blob))
    forged[forged.index(b"deploy")] ^= 1
    with pytest.raises(ValueError, match="whole, signed"):
        key.certify(f"{kind} {base64.b64encode(forged).decode()}", at(START))
    assert key.identity(at(START)) is None
