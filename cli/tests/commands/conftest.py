"""A real HTTP server that answers as a test says, and the `styx` command line against it."""

import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from styx_cli import client
from styx_cli.commandline import run
from styx_cli.owner_token import raw
from styx_cli.testing import ADMIN
from styx_core.signing import bearer


class Asked(NamedTuple):
    """One call as it arrived."""

    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    authorization: str | None


@dataclass
class Answering:
    """`answers["GET /v1/grants"]` is a JSON value, text, or a pair of a status and one of them."""

    url: str = ""
    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def sent(self, method: str) -> list[Asked]:
        """The calls of one method."""
        return [call for call in self.asked if call.method == method]


class _Handler(BaseHTTPRequestHandler):
    said: Answering

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the test has its own eyes."""

    def do_GET(self) -> None:
        length = int(self.headers["Content-Length"] or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        at = urlsplit(self.path)
        token = self.headers["Authorization"]
        self.said.asked.append(Asked(self.command, at.path, parse_qs(at.query), body, token))
        missing = (404, {"title": "not found", "detail": f"no {at.path} here"})
        answer = self.said.answers.get(f"{self.command} {at.path}", missing)
        status, value = answer if isinstance(answer, tuple) else (200, answer)
        content = value if isinstance(value, str) else json.dumps(value)
        self.send_response(status)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())

    def do_POST(self) -> None:
        self.do_GET()

    def do_PUT(self) -> None:
        self.do_GET()


@pytest.fixture
def broker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    """The server, which the environment names, and an owner's token beside it."""
    said = Answering()
    handler = type("Handler", (_Handler,), {"said": said})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    said.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("STYX_DATA", str(tmp_path / "none"))
    monkeypatch.setenv("STYX_URL", said.url)
    monkeypatch.setenv("STYX_ADMIN_TOKEN", ADMIN)
    yield said
    server.shutdown()
    server.server_close()
    thread.join()
    shown = f"Bearer {bearer(raw(ADMIN))}"
    assert {call.authorization for call in said.asked} <= {shown, None}
    assert ADMIN not in json.dumps([call._asdict() for call in said.asked])


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What `--json` printed."""
        return json.loads(self.out)


Styx = Callable[..., Done]


@pytest.fixture
def styx(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Styx:
    """Run a command line in this process; `stdin` is what it may read, and no terminal."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(client, "CONNECT_TRIES", 1)

    def call(*words: str, stdin: str = "") -> Done:
        monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run(words)
        code = end.value.code
        said = capsys.readouterr()
        return Done(int(code) if code is not None else 0, said.out, said.err)

    return call


@pytest.fixture
def grant() -> dict[str, Any]:
    """A request of an agent, whose words would like to draw on a terminal."""
    absent = ("decided_at", "expires_at", "ended_at", "end_why", "decided_by", "decided_person")
    return {
        "id": "grt_0000000000000000000000000a",
        "project_id": "prj_1",
        "task_id": "tsk_1",
        "agent": "an-agent",
        "person": "owner",
        "target": "prod",
        "provider": "aws",
        "env": "prod",
        "scopes": ["write", "delete"],
        "state": "pending",
        "reason": "tidy\x1b[2Jup",
        "command": ["aws", "s3", "rm", "s3://b/a key"],
        "understood": "it deletes",
        "why": "no rule allows it",
        "because": [],
        "duration": "1h",
        "mfa": False,
        "created_at": "2026-01-05T12:00:00+00:00",
        "leases": 1,
        "revocable": "deny-policy",
        **dict.fromkeys(absent),
    }
