"""An OpenSSH key revocation list: the certificates that a host should no longer admit. Pure.

Source: OpenSSH's PROTOCOL.krl. A list names certificates of one CA by their key ids.
"""

import base64
import struct
from collections.abc import Iterable

MAGIC, FORMAT = b"SSHKRL\n\0", 1
CERTIFICATES, BY_KEY_ID = 1, 0x23


def _string(value: bytes) -> bytes:
    return struct.pack(">I", len(value)) + value


def _section(kind: int, data: bytes) -> bytes:
    return bytes([kind]) + _string(data)


def revocation_list(ca: str, key_ids: Iterable[str], made_at: int) -> bytes:
    """The file for sshd's `RevokedKeys`.

    `ca` is the CA's public key as a line (`ssh-ed25519 AAAA…`), `made_at` the Unix time in
    seconds, which also numbers the list.
    """
    blob = base64.b64decode(ca.split()[1])
    head = struct.pack(">IQQQ", FORMAT, made_at, made_at, 0)
    listed = b"".join(_string(key_id.encode()) for key_id in sorted(set(key_ids)))
    named = _section(BY_KEY_ID, listed) if listed else b""
    body = _string(blob) + _string(b"") + named
    return MAGIC + head + _string(b"") + _string(b"Styx") + _section(CERTIFICATES, body)
