"""SSH credentials over the bridge: a fresh key for each, its certificate behind a socket.

The keyring's end is played here, line by line.
"""

import contextlib
import json
import os
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from styx_cli.mcp_bridge_keyring import Keyring, KeyringFailed, Ring

PUBLIC = "ssh-ed25519 AAAAFIXTURE"
CERTIFICATE = "ssh-ed25519-cert-v01@openssh.com AAAAFIXTURE"


class Played:
    """A keyring's control socket: one key for each connection."""

    def __init__(self, path: str, certified: str = "ok") -> None:
        self.path, self.certified = path, certified
        self.lines: list[str] = []
        self.closed = threading.Semaphore(0)
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(path)
        self._door.listen()

    def serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._talk, args=self._door.accept()[:1]).start()

    def _talk(self, line: socket.socket) -> None:
        with line, line.makefile("rwb") as file:
            for said in file:
                self.lines.append(said.decode().strip())
                reply = f"/run/agent-1 {PUBLIC}" if said == b"new\n" else self.certified
                file.write(reply.encode() + b"\n")
                file.flush()
        self.closed.release()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: a unix socket's name has room for about a hundred letters."""
    with tempfile.TemporaryDirectory(prefix="sx") as made:
        yield Path(made)


@contextlib.contextmanager
def keyring(folder: Path, certified: str = "ok") -> Iterator[tuple[Keyring, Played]]:
    played = Played(str(folder / "k"), certified)
    thread = threading.Thread(target=played.serve)
    thread.start()
    try:
        yield Keyring(played.path), played
    finally:
        played.close()
        thread.join(10)


def result(ends_in: float = 60, **env: str) -> dict[str, Any]:
    fields = {
        "kind": "ssh-agent",
        "env": env,
        "socketPath": None,
        "expiresAt": int((time.time() + ends_in) * 1000),
        "scoped": False,
    }
    return {
        "content": [{"type": "text", "text": json.dumps(fields)}],
        "structuredContent": fields,
        "isError": False,
    }


def test_a_certificate_becomes_a_socket(folder: Path) -> None:
    with keyring(folder) as (keys, played):
        arguments, ring = keys.prepare({"grantId": "g"})
        assert arguments == {"grantId": "g", "publicKey": PUBLIC}
        assert ring is not None
        made = keys.finish(result(STYX_SSH_CERTIFICATE=CERTIFICATE), ring)
        assert made["structuredContent"]["socketPath"] == "/run/agent-1"
        assert made["structuredContent"]["env"] == {"SSH_AUTH_SOCK": "/run/agent-1"}
        assert json.loads(made["content"][0]["text"]) == made["structuredContent"]
        assert played.lines == ["new", f"cert /run/agent-1 {CERTIFICATE}"]
        assert not played.closed.acquire(blocking=False)
        ring.close()


def test_a_key_whose_certificate_has_ended_goes_at_the_next_one(folder: Path) -> None:
    with keyring(folder) as (keys, played):
        for ends_in in (-1, 60):
            _, ring = keys.prepare({})
            assert ring is not None
            keys.finish(result(ends_in, STYX_SSH_CERTIFICATE=CERTIFICATE), ring)
        assert played.closed.acquire(timeout=10)
        assert not played.closed.acquire(blocking=False)
        assert ring is not None
        ring.close()


@pytest.mark.parametrize(
    "answer",
    [result(AWS_SESSION_TOKEN="FIXTURE"), {"content": [], "isError": True}],
    ids=["env", "refused"],
)
def test_a_key_that_nobody_needs_is_forgotten(folder: Path, answer: dict[str, Any]) -> None:
    with keyring(folder) as (keys, played):
        _, ring = keys.prepare({})
        assert ring is not None
        assert keys.finish(answer, ring) is answer
        assert played.closed.acquire(timeout=10)


def test_a_certificate_that_the_keyring_refuses_is_no_credential(folder: Path) -> None:
    with keyring(folder, "error: it is for another key") as (keys, played):
        _, ring = keys.prepare({})
        assert ring is not None
        made = keys.finish(result(STYX_SSH_CERTIFICATE=CERTIFICATE), ring)
        assert made["isError"]
        assert "it is for another key" in made["content"][0]["text"]
        assert "FIXTURE" not in json.dumps(made)
        assert played.closed.acquire(timeout=10)


def test_a_key_of_the_callers_own_is_left_alone(folder: Path) -> None:
    with keyring(folder) as (keys, played):
        assert keys.prepare({"publicKey": "mine"}) == ({"publicKey": "mine"}, None)
        assert played.lines == []


def test_without_a_keyring_the_call_goes_as_it_is(folder: Path) -> None:
    assert Keyring("").prepare({"grantId": "g"}) == ({"grantId": "g"}, None)
    gone = os.fspath(folder / "gone")
    assert Keyring(gone).prepare({"grantId": "g"}) == ({"grantId": "g"}, None)
    with pytest.raises(KeyringFailed, match="can't be reached"):
        Ring(gone)
