"""Signed checkpoints: C2SP tlog-checkpoint in a C2SP signed-note, with Ed25519. Pure.

    origin            one line that names the log
    size              decimal, no leading zeros
    root              base64 of the 32-byte root hash
    (extensions)      further lines, kept but not read
                      an empty line, then one line a signature:
    — name base64(key id (4 bytes) || signature (64 bytes))

Only the holder of the private key signs (Vault's transit engine, elsewhere): `Checkpoint.text`
says what to sign and `signed_note` puts the pieces together. Sources: c2sp.org/tlog-checkpoint
and c2sp.org/signed-note, whose verifier key is `name+hex(key id)+base64(0x01 || public key)`.
"""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_ED25519: Final = b"\x01"
_DASH: Final = "— "
_NAME: Final = re.compile(r"[^\s+\x00-\x1f\x7f]+")
_SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


class NoteError(ValueError):
    """A note, checkpoint or key that isn't valid; the text says what is wrong with it."""


@dataclass(frozen=True)
class Checkpoint:
    """What a log's key signs: that its first `size` entries have this `root` (32 bytes)."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.origin or _CONTROL.search(self.origin) or "\n" in self.origin:
            raise NoteError(f"checkpoint: the origin {self.origin[:80]!r} isn't one line of text")
        if self.size < 0 or len(self.root) != hashlib.sha256().digest_size:
            raise NoteError("checkpoint: the size is at least 0 and the root has 32 bytes")
        if any(not line or "\n" in line for line in self.extensions):
            raise NoteError("checkpoint: an extension is one line, not empty")

    @property
    def text(self) -> str:
        """The note's text, which is what the signature is over (as UTF-8)."""
        lines = (self.origin, str(self.size), base64.b64encode(self.root).decode())
        return "".join(f"{line}\n" for line in (*lines, *self.extensions))


@dataclass(frozen=True)
class Verifier:
    """The name and public key (32 raw bytes of Ed25519) that a log's checkpoints are checked by."""

    name: str
    public_key: bytes

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise NoteError(f"key name {self.name[:80]!r}: no spaces and no plus sign")
        if len(self.public_key) != 32:
            raise NoteError(f"key {self.name}: an Ed25519 public key has 32 bytes")

    @property
    def key_id(self) -> bytes:
        """SHA-256(name || LF || 0x01 || key), its first 4 bytes."""
        whole = self.name.encode() + b"\n" + _ED25519 + self.public_key
        return hashlib.sha256(whole).digest()[:4]

    def __str__(self) -> str:
        key = base64.b64encode(_ED25519 + self.public_key).decode()
        return f"{self.name}+{self.key_id.hex()}+{key}"

    def accepts(self, text: str, signature: bytes) -> bool:
        """Whether this key made `signature` (64 bytes) over `text`."""
        try:
            Ed25519PublicKey.from_public_bytes(self.public_key).verify(signature, text.encode())
        except (InvalidSignature, ValueError):
            return False
        return True


def parse_verifier(text: str) -> Verifier:
    """A verifier key from its line. Raises NoteError, also if its hash isn't that of its key."""
    name, _, rest = text.strip().partition("+")
    key_id, _, encoded = rest.partition("+")
    key = _base64(encoded, "verifier key")
    if key[:1] != _ED25519:
        raise NoteError("verifier key: want name+hash+base64 of an Ed25519 key (type 0x01)")
    verifier = Verifier(name, key[1:])
    if verifier.key_id.hex() != key_id:
        raise NoteError(f"verifier key {name}: its hash isn't that of its key; copy it again")
    return verifier


def signed_note(checkpoint: Checkpoint, verifier: Verifier, signature: bytes) -> str:
    """The signed note. Raises NoteError if the signature isn't the verifier's over it."""
    if not verifier.accepts(checkpoint.text, signature):
        raise NoteError(f"the signature over the checkpoint isn't one by the key {verifier.name}")
    encoded = base64.b64encode(verifier.key_id + signature).decode()
    return f"{checkpoint.text}\n{_DASH}{verifier.name} {encoded}\n"


def open_note(note: str, verifier: Verifier) -> Checkpoint:
    """The checkpoint that `note` holds, once `verifier`'s signature on it has been checked.

    Signatures by other keys are passed over, as the format demands. Raises NoteError.
    """
    text, gap, block = note.rpartition("\n\n")
    if not gap or not block.endswith("\n") or _CONTROL.search(note):
        raise NoteError("note: want text, an empty line, and lines of signatures")
    text += "\n"
    signatures = [_signature(line) for line in block[:-1].split("\n")]
    ours = [raw[4:] for name, raw in signatures if (name, raw[:4]) == _identity(verifier)]
    if not ours:
        raise NoteError(f"note: no signature by the key {verifier.name}")
    if not all(verifier.accepts(text, signature) for signature in ours):
        raise NoteError(f"note: the signature by {verifier.name} doesn't match: it was altered")
    return parse_checkpoint(text)


def parse_checkpoint(text: str) -> Checkpoint:
    """A checkpoint from a note's text, its signature unchecked. Raises NoteError."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1]:
        raise NoteError("checkpoint: want three lines: origin, size, root")
    origin, size, root, *extensions = lines[:-1]
    if not _SIZE.fullmatch(size):
        raise NoteError(f"checkpoint: the size {size[:40]!r} is no plain decimal number")
    return Checkpoint(origin, int(size), _base64(root, "checkpoint root"), tuple(extensions))


def _identity(verifier: Verifier) -> tuple[str, bytes]:
    return verifier.name, verifier.key_id


def _signature(line: str) -> tuple[str, bytes]:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not _NAME.fullmatch(name):
        raise NoteError(f"note: {line[:80]!r} is no signature line")
    raw = _base64(encoded, "signature")
    if len(raw) < 5:
        raise NoteError("note: a signature holds a key id of 4 bytes and more")
    return name, raw


def _base64(text: str, what: str) -> bytes:
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise NoteError(f"{what}: {text[:80]!r} is no base64") from error
    if base64.b64encode(raw).decode() != text:
        raise NoteError(f"{what}: {text[:80]!r} isn't in base64's one plain form")
    return raw
