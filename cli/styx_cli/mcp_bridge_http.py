"""The bridge's way to the server: one POST for each request, its answer as JSON or as a stream.

Standard library only. What can be tried again is told apart from what can't: `Away` says whether
the server may have taken the request.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from socket import socket
from typing import Any
from urllib.parse import urlsplit

CONNECT = 5.0
SILENCE = 60.0
"""Seconds: a held call is told something every 15, so a longer silence means a dead connection."""
LONGEST_PROBLEM = 64 * 1024

Message = dict[str, Any]


class Away(Exception):
    """No answer came. `taken`: the server may have begun to work on the request."""

    def __init__(self, why: str, *, taken: bool) -> None:
        super().__init__(why)
        self.taken = taken


class Refused(Exception):
    """The server won't serve this request; the text says why."""


@dataclass(frozen=True)
class Server:
    """Where the gateway is, and as which task to speak to it."""

    scheme: str
    host: str
    port: int | None
    path: str
    token: str = field(repr=False)

    @classmethod
    def at(cls, url: str, token: str) -> "Server":
        """The server that `STYX_URL` names. Raises `ValueError` for what is no such address."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the address wants the form http(s)://host:port")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError("the token holds something else than plain letters")
        path = parts.path.rstrip("/").removesuffix("/mcp") + "/mcp"
        return cls(parts.scheme, parts.hostname, parts.port, path, token)

    def connect(self) -> HTTPConnection:
        """A fresh connection. Raises `Away`."""
        kind = HTTPSConnection if self.scheme == "https" else HTTPConnection
        connection = kind(self.host, self.port, timeout=CONNECT)
        try:
            connection.connect()
        except OSError as error:
            why = f"Styx can't be reached at {self.host} ({error.strerror or error})"
            raise Away(why, taken=False) from error
        return connection


def exchange(
    server: Server, message: Message, version: str, opened: Callable[[socket], None]
) -> Iterator[Message]:
    """Send a request and yield what comes back: notifications, then the answer.

    `opened` gets the socket, whose shutdown from another thread ends this. Raises `Away`,
    `Refused`.
    """
    connection = server.connect()
    try:
        connection.sock.settimeout(SILENCE)
        opened(connection.sock)
        body = json.dumps(message, separators=(",", ":")).encode()
        connection.request("POST", server.path, body, _headers(server, version))
        yield from _answer(connection.getresponse())
    except (OSError, HTTPException, ValueError) as error:
        raise Away(f"the connection to Styx broke ({type(error).__name__})", taken=True) from error
    finally:
        connection.close()


def _headers(server: Server, version: str) -> dict[str, str]:
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    return {**headers, "MCP-Protocol-Version": version} if version else headers


def _answer(response: HTTPResponse) -> Iterator[Message]:
    if response.status != 200:
        raise _problem(response)
    if response.headers.get_content_type() == "text/event-stream":
        yield from _events(response)
    else:
        yield _message(response.read())


def _message(text: bytes) -> Message:
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError
    return message


def _problem(response: HTTPResponse) -> Exception:
    text = _said(response.read(LONGEST_PROBLEM)) or f"Styx answered HTTP {response.status}"
    if response.status in (502, 503, 504):  # a proxy's word for it too: no gateway took it
        return Away(text, taken=response.status != 503)
    return Refused(text)


def _said(body: bytes) -> str:
    try:
        return str(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return ""


def _events(response: HTTPResponse) -> Iterator[Message]:
    """The messages of a server-sent stream (WHATWG HTML, "Server-sent events")."""
    data: list[bytes] = []
    while line := response.readline():
        line = line.rstrip(b"\r\n")
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            text = b"\n".join(data)
            data = []
            if text:
                yield _message(text)
