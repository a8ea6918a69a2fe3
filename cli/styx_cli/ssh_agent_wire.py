"""The ssh-agent protocol as one pure function: a request in, an answer out.

Source: draft-ietf-sshm-ssh-agent (formerly draft-miller-ssh-agent), sections 3 to 5. This agent
lists and signs for one key and nothing else; whatever would change the agent, and every
extension, is answered with FAILURE.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

FAILURE = 5
REQUEST_IDENTITIES, IDENTITIES_ANSWER = 11, 12
SIGN_REQUEST, SIGN_RESPONSE = 13, 14
KEY_TYPE = b"ssh-ed25519"
# OpenSSH's own limit for a message, in bytes.
LONGEST_MESSAGE = 256 * 1024


class Refused(Exception):
    """What signs said no."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A key's or certificate's blob and what signs with its Ed25519 key (raw, 64 bytes)."""

    blob: bytes
    sign: Callable[[bytes], bytes]


def string(value: bytes) -> bytes:
    """`value` as an SSH string (RFC 4251, section 5)."""
    return struct.pack(">I", len(value)) + value


def answer(request: bytes, identity: Identity | None) -> bytes:
    """The answer to `request`, both without length prefix. With no identity nothing is offered."""
    kind = request[0] if request else None
    if kind == REQUEST_IDENTITIES and len(request) == 1:
        offered = [string(identity.blob) + string(b"styx")] if identity else []
        return struct.pack(">BI", IDENTITIES_ANSWER, len(offered)) + b"".join(offered)
    if kind == SIGN_REQUEST and identity:
        wanted = _sign_request(request[1:])
        if wanted and wanted[0] == identity.blob:
            try:
                made = identity.sign(wanted[1])
            except Refused:
                return bytes([FAILURE])
            return bytes([SIGN_RESPONSE]) + string(string(KEY_TYPE) + string(made))
    return bytes([FAILURE])


def _sign_request(body: bytes) -> tuple[bytes, bytes] | None:
    """The key blob and the data of a sign request, or None when the body isn't exactly one."""
    parts = []
    for _ in range(2):
        if len(body) < 4:
            return None
        (size,) = struct.unpack_from(">I", body)
        parts.append(body[4 : 4 + size])
        body = body[4 + size :]
    complete = len(body) == 4  # the flags: they choose among RSA hashes and mean nothing here
    return (parts[0], parts[1]) if complete else None
