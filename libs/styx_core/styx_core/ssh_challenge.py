"""What an SSH client signs to log in, read so that a key signs logins and nothing else. Pure.

Source: RFC 4252, section 7, and OpenSSH's PROTOCOL, "publickey-hostbound-v00@openssh.com". The
session's id hides which host it is; the login name, the method and the key are in the clear.
"""

import struct
from dataclasses import dataclass

USERAUTH_REQUEST = 50
METHODS = (b"publickey", b"publickey-hostbound-v00@openssh.com")
LONGEST = 16 * 1024
"""Bytes; a login's text is a few hundred."""


class NotALogin(ValueError):
    """The data is not a login's, or not one as this user with this key."""


@dataclass
class _Reader:
    data: bytes
    at: int = 0

    def byte(self) -> int:
        self.at += 1
        if self.at > len(self.data):
            raise NotALogin("the data ends early")
        return self.data[self.at - 1]

    def string(self) -> bytes:
        if self.at + 4 > len(self.data):
            raise NotALogin("the data ends early")
        (size,) = struct.unpack_from(">I", self.data, self.at)
        start, self.at = self.at + 4, self.at + 4 + size
        if self.at > len(self.data):
            raise NotALogin("the data ends early")
        return self.data[start : self.at]


def check_login(data: bytes, user: str, key_type: str, blob: bytes) -> None:
    """Raise `NotALogin` unless `data` is a login as `user` with this public key, to the byte."""
    if len(data) > LONGEST:
        raise NotALogin(f"over {LONGEST} bytes")
    read = _Reader(data)
    session, kind = read.string(), read.byte()
    login, service, method = read.string(), read.string(), read.string()
    signed = read.byte()
    key = read.string(), read.string()
    if method == METHODS[1]:
        read.string()  # the host's key, which the host itself has proved to the client
    rules = (
        (session != b"", "it has no session"),
        (kind == USERAUTH_REQUEST, "it asks for something else than a login"),
        (login == user.encode(), "it is for another login name than the target's"),
        (service == b"ssh-connection", "it asks for another service than a connection"),
        (method in METHODS and signed == 1, "it logs in by another method"),
        (key == (key_type.encode(), blob), "it is for another key"),
        (read.at == len(data), "something follows the login"),
    )
    for holds, why in rules:
        if not holds:
            raise NotALogin(why)
