"""People who are told: a webhook's receiver on loopback, and channels to it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from stack_fixture import Living
from styx_core.ids import new_id
from styx_core.seal import connect_info, seal


class Receiver(ThreadingHTTPServer):
    """Keeps what it is told: headers and body."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.got: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}/told"


class _Receiving(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        heads = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append((heads, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver that runs."""
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def channel(here: Living, secret: dict[str, str], **more: Any) -> dict[str, Any]:
    """A channel, its address sealed as `styx notify add` does."""
    made, key = new_id("chn"), (await here.ask("GET", "/v1/catalog"))["sealing_key"]
    box = seal(secret, key, connect_info(made))
    body = {"id": made, "project": "shop", "name": "told", "box": box, **more}
    found: dict[str, Any] = await here.ask("POST", "/v1/channels", body)
    return found
