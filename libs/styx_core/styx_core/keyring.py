"""The root key of a Styx data folder and all that is derived from it.

One file of 32 random bytes, readable by its owner alone, is the only secret on disk. Every other
secret of the embedded stack (OpenBao's seal key, each service's AppRole secret id, each service's
NATS key) is HKDF-SHA256 (RFC 5869) of it under a label of its own, so knowing one tells nothing of
another and nothing else needs to be stored. Labels are permanent: changing one changes the secret.

Only `load_or_create` does I/O; the rest is pure.
"""

import base64
import contextlib
import os
import secrets
import stat
from pathlib import Path

import nkeys
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

ROOT_BYTES = 32


class KeyFileError(Exception):
    """The root key file can't be trusted or read; the text says what to do."""


def derive(root: bytes, label: str, length: int = 32) -> bytes:
    """`length` bytes (at most 8,160) that belong to `label` alone; HKDF-SHA256, RFC 5869."""
    if len(root) != ROOT_BYTES:
        raise ValueError(f"the root key has {len(root)} bytes instead of {ROOT_BYTES}")
    return HKDF(SHA256(), length, salt=None, info=f"styx/v1/{label}".encode()).derive(root)


def fingerprint(root: bytes) -> str:
    """Eight hex digits that name this root key and tell nothing about it."""
    return derive(root, "fingerprint", 4).hex()


def seal_key(root: bytes) -> str:
    """OpenBao's static seal key: 32 bytes (AES-256-GCM) in base64."""
    return base64.b64encode(derive(root, "bao/seal")).decode()


def secret_id(root: bytes, service: str) -> str:
    """The AppRole secret id of a service: 256 bits in hex."""
    return derive(root, f"bao/approle/{service}").hex()


def nats_seed(root: bytes, user: str) -> str:
    """The NATS user nkey seed (`SU…`) of a service."""
    seed: bytes = nkeys.encode_seed(derive(root, f"nats/{user}"), nkeys.PREFIX_BYTE_USER)
    return seed.decode()


def nats_public_key(root: bytes, user: str) -> str:
    """The public half (`U…`) of `nats_seed`, for the server's configuration."""
    public: bytes = nkeys.from_seed(nats_seed(root, user).encode()).public_key
    return public.decode()


def load_or_create(path: Path) -> bytes:
    """The root key in `path`; made there, mode 0600, if there is none.

    Two processes that start at once get the same key. Raises `KeyFileError` for a file that
    others can read, that isn't ours, or that doesn't hold a key.
    """
    with contextlib.suppress(FileNotFoundError):
        return _load(path)
    _create(path)
    return _load(path)


def _create(path: Path) -> None:
    """Write a whole new key beside `path`, then link it there: never half a key, never a second."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(ROOT_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make a new name in `folder` outlive a power cut: without its key, all data is lost."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _load(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise KeyFileError(f"{path} can't be read: {error.strerror}") from error
    try:
        _check_custody(path, os.fstat(descriptor))
        return _parse(path, os.read(descriptor, 2 * ROOT_BYTES + 2))
    finally:
        os.close(descriptor)


def _check_custody(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise KeyFileError(f"{path} is not a plain file; move it away")
    if found.st_uid != os.geteuid():
        raise KeyFileError(f"{path} belongs to another user; start Styx as its owner")
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise KeyFileError(f"{path} can be read by others (mode {mode:04o}): chmod 600 {path}")


def _parse(path: Path, text: bytes) -> bytes:
    try:
        root = bytes.fromhex(text.decode().strip())
    except ValueError:
        root = b""
    if len(root) != ROOT_BYTES:
        raise KeyFileError(
            f"{path} doesn't hold {ROOT_BYTES} bytes in hex; restore it from your backup "
            "(without the key that made it, this data folder can't be opened)"
        )
    return root
