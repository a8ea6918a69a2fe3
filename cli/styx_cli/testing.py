"""A small real HTTP server that speaks the broker's wire to the shim and the commands, for tests.

`FakeBroker` decides by a script that the test gives, keeps what it was asked, and refuses what the
real broker refuses: a wrong token, a wrong content type, a body that can't be read.
"""

import base64
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import BaseServer, ThreadingTCPServer, ThreadingUnixStreamServer
from typing import Any

from styx_core.signing import bearer

from styx_cli.owner_token import PREFIX, raw
from styx_cli.shims import write_shims

TOKEN = "FIXTURE-task-token"  # noqa: S105
ADMIN = PREFIX + base64.urlsafe_b64encode(b"FIXTURE owner token, 32 bytes ..").decode().rstrip("=")
"""An owner's token; the broker is shown only what derives from it."""
EXEC_TYPE = "application/x-styx-exec"


@dataclass(frozen=True)
class Call:
    """One `POST /v1/exec` as it arrived."""

    tool: bytes
    cwd: bytes
    public_key: bytes
    args: list[bytes]
    headers: dict[str, str]


Script = Callable[[Call], Iterable[bytes]]


def fields(*pairs: str | bytes) -> bytes:
    """NUL-terminated fields."""
    return b"".join((p if isinstance(p, bytes) else p.encode()) + b"\0" for p in pairs)


def run_it(call: Call) -> Iterable[bytes]:
    """The plainest script: every call runs with one variable set."""
    yield fields("exec=exe_1", "set=ACME_TOKEN=FIXTURE-acme", "verdict=run")


@dataclass
class FakeBroker:
    """The server; use it as a context manager. `socket` makes it listen there and not on TCP."""

    script: Script = run_it
    tools: dict[str, str] = field(default_factory=lambda: {"acme": "env"})
    strip: list[str] = field(default_factory=list)
    quiet: dict[str, str] = field(default_factory=dict)
    socket: Path | None = None
    tls: ssl.SSLContext | None = None
    calls: list[Call] = field(default_factory=list)
    reports: list[tuple[str, bytes]] = field(default_factory=list)
    tasks: list[dict[str, Any]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    url: str = "http://styx.invalid"

    def __enter__(self) -> "FakeBroker":
        broker = self

        class Handler(_Handler):
            fake = broker

        if self.socket:
            self._server: BaseServer = ThreadingUnixStreamServer(str(self.socket), Handler)
        else:
            server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
            if self.tls:
                server.socket = self.tls.wrap_socket(server.socket, server_side=True)
            scheme = "https" if self.tls else "http"
            self._server, self.url = server, f"{scheme}://127.0.0.1:{server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass
class Place:
    """A folder of shims, a folder of real tools, and the environment that joins them."""

    shims: Path
    tools: Path
    env: dict[str, str]

    @classmethod
    def make(cls, folder: Path, broker: FakeBroker) -> "Place":
        """A place in `folder` where `acme` (and `acme-ssh`, with a key) is a tool of `broker`."""
        shims, tools = folder / "shims", folder / "real"
        write_shims(shims, {"acme": "env", "acme-ssh": "ssh-agent"})
        tools.mkdir()
        path = f"{shims}:{tools}:/usr/bin:/bin"
        env = {"PATH": path, "STYX_URL": broker.url, "STYX_TOKEN": TOKEN, "OLD": "x"}
        made = cls(shims, tools, env)
        made.tool("#!/bin/sh\necho ran\n")
        return made

    def tool(self, text: str, name: str = "acme") -> None:
        """Make `name` a real tool with this text."""
        path = self.tools / name
        path.write_text(text)
        path.chmod(0o755)

    def start(self, *args: str | bytes, **more: str) -> "subprocess.Popen[bytes]":
        """Start `acme` through its shim."""
        return subprocess.Popen(
            [str(self.shims / "acme"), *args],
            env=self.env | more,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *args: str | bytes, **more: str) -> tuple[int, bytes, str]:
        """Run `acme` through its shim: its exit code, what it wrote, what stderr got."""
        process = self.start(*args, **more)
        out, err = process.communicate(timeout=30)
        return process.returncode, out, err.decode()


class _Handler(BaseHTTPRequestHandler):
    fake: FakeBroker

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test has its own eyes."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path.startswith("/v1/exec"):
            self._exec(body)
        else:
            self._tasks(body)

    def _bearer(self, token: str) -> bool:
        return self.headers["Authorization"] == f"Bearer {token}"

    def _exec(self, body: bytes) -> None:
        if not self._bearer(TOKEN):
            return self._answer(401, [fields("say=this task has ended", "exit=78", REFUSE)])
        if self.headers["Content-Type"] != EXEC_TYPE:
            return self._answer(415, [fields("say=wrong content type", "exit=64", REFUSE)])
        if self.path != "/v1/exec":
            self.fake.reports.append((self.path.split("/")[3], body))
            return self._answer(200, [])
        parts = body.split(b"\0")
        if len(parts) < 3:
            return self._answer(400, [fields("say=unreadable call", "exit=64", REFUSE)])
        call = Call(parts[0], parts[1], parts[2], parts[3:], dict(self.headers))
        self.fake.calls.append(call)
        return self._answer(200, self.fake.script(call))

    def _answer(self, status: int, chunks: Iterable[bytes], kind: str = EXEC_TYPE) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            for chunk in chunks:
                self.wfile.write(chunk)
                self.wfile.flush()
        except OSError:
            return  # the caller went away

    def _json(self, status: int, value: object) -> None:
        kind = "application/json" if status < 400 else "application/problem+json"
        self._answer(status, [json.dumps(value).encode()], kind)

    def _tasks(self, body: bytes) -> None:
        fake = self.fake
        if not fake.socket and not self._bearer(bearer(raw(ADMIN))):
            problem = {"title": "Not signed in.", "detail": "The token isn't known."}
            return self._json(401, problem | {"hint": "Set STYX_ADMIN_TOKEN."})
        if self.path.endswith("/end"):
            fake.ended.append(self.path.split("/")[3])
            return self._json(200, {})
        if self.path != "/v1/tasks":
            return self._json(404, {"title": "No such page."})
        fake.tasks.append(json.loads(body))
        task = {"id": "tsk_1", "token": TOKEN, "project": "prj_acme", "url": fake.url}
        more = {"tools": fake.tools, "strip": fake.strip, "quiet": fake.quiet}
        return self._json(200, task | more)


REFUSE = "verdict=refuse"
