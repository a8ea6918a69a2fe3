"""A played gateway, and a client's ends of the bridge's pipes, for tests."""

import contextlib
import json
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from styx_cli.mcp_bridge import Bridge
from styx_cli.mcp_bridge_http import Server

TOKEN = "FIXTURE-task-token"  # noqa: S105
Reply = Callable[["Handler", dict[str, Any]], None]


class Handler(BaseHTTPRequestHandler):
    """One POST, answered as the test says."""

    server: "Gateway"

    def do_POST(self) -> None:
        """Keep the request and answer it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        message = json.loads(body)
        self.server.got.append((message, dict(self.headers)))
        self.server.reply(self, message)

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""

    def plain(self, message: Any, status: int = 200) -> None:
        """Answer with JSON."""
        body = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self) -> Callable[[Any], None]:
        """Answer with a stream; returns what says one message on it."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()

        def say(message: Any) -> None:
            self.wfile.write(b": ping\r\n\r\n")
            self.wfile.write(b"event: message\r\ndata: " + json.dumps(message).encode())
            self.wfile.write(b"\r\n\r\n")
            self.wfile.flush()

        return say

    def cut(self) -> None:
        """Hang up in the middle."""
        self.connection.shutdown(socket.SHUT_RDWR)


class Gateway(ThreadingHTTPServer):
    """A played gateway."""

    daemon_threads = True

    def __init__(self, reply: Reply, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.reply = reply
        self.got: list[tuple[dict[str, Any], dict[str, str]]] = []

    def handle_error(self, *_: object) -> None:
        """A client that went away is no news."""

    @contextlib.contextmanager
    def serving(self) -> Iterator["Gateway"]:
        """Serve in a thread for as long as the block runs."""
        thread = threading.Thread(target=self.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class Client:
    """The client's ends of the pipes."""

    def __init__(self, url: str, keyring: str = "", channel: bool = False) -> None:
        source, self._write = os.pipe()
        self._read, sink = os.pipe()
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._source, self._sink = os.fdopen(source, "rb"), os.fdopen(sink, "wb")
        pipes = (self._source, self._sink)
        bridge = Bridge(Server.at(url, TOKEN), keyring, pipes, channel)
        self.bridge = threading.Thread(target=bridge.run)
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.bridge.start()
        self.reader.start()

    def _drain(self) -> None:
        with os.fdopen(self._read, "rb") as out:
            for line in out:
                self._lines.put(line)

    def raw(self, line: bytes) -> None:
        """Write bytes."""
        os.write(self._write, line)

    def say(self, method: str, number: Any = None, **params: Any) -> None:
        """Send a request, or a notification where it has no number."""
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.raw(json.dumps(message if number is None else {**message, "id": number}).encode())
        self.raw(b"\n")

    def hear(self, seconds: float = 20) -> dict[str, Any]:
        """The next message from the bridge."""
        heard: dict[str, Any] = json.loads(self._lines.get(timeout=seconds))
        return heard

    def silent(self) -> bool:
        """Whether nothing more has come."""
        return self._lines.empty()

    def end(self) -> None:
        """Close stdin and wait for the bridge."""
        if self._write >= 0:
            os.close(self._write)
            self._write = -1
        self.bridge.join(20)
        self._source.close()
        self._sink.close()
        self.reader.join(20)


@contextlib.contextmanager
def bridged(
    reply: Reply, keyring: str = "", channel: bool = False
) -> Iterator[tuple[Client, Gateway]]:
    """A gateway that answers so, and a client at a bridge to it."""
    with Gateway(reply).serving() as gateway:
        client = Client(f"http://127.0.0.1:{gateway.server_port}", keyring, channel)
        try:
            yield client, gateway
        finally:
            client.end()


def echo(handler: Handler, message: dict[str, Any]) -> None:
    """Answer with the method's name."""
    result = {"protocolVersion": "2025-06-18", "was": message["method"]}
    handler.plain({"jsonrpc": "2.0", "id": message["id"], "result": result})


def progress(n: float) -> dict[str, Any]:
    """A progress notification."""
    params = {"progressToken": 1, "progress": n, "message": "waits"}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
