"""For tests: a real HTTP server on loopback that plays a provider's documented API.

One function answers every call. It should refuse what the real API refuses, and say in its
docstring which pages it was read from.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Played:
    """One call, as the server got it."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def bearer(self) -> str:
        """The token that it came with; empty without one."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token if kind.lower() in ("bearer", "token") else ""

    def json(self) -> Any:
        """Its body, read as JSON; None for an empty one."""
        return json.loads(self.body) if self.body else None

    def form(self) -> dict[str, str]:
        """Its body, read as a form."""
        return dict(parse_qsl(self.body.decode()))


Answer = Callable[[Played], tuple[int, Any]]
"""A call's status and what is sent as JSON: None for no body, bytes as they are."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer: Answer

    def _serve(self) -> None:
        size = int(self.headers.get("content-length") or 0)
        parts = urlsplit(self.path)
        call = Played(
            method=self.command,
            path=parts.path,
            query=dict(parse_qsl(parts.query)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(min(size, MOST_BYTES)),
        )
        status, said = type(self).answer(call)
        content = said if isinstance(said, bytes) else b"" if said is None else _json(said)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what is called may hold a secret."""


def _json(said: object) -> bytes:
    return json.dumps(said).encode()


@contextmanager
def playing(answer: Answer) -> Iterator[str]:
    """The server's address, until the block ends."""
    handler = type("Handler", (_Handler,), {"answer": staticmethod(answer)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()
