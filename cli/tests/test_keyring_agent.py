"""The keyring with a real ssh client against a real sshd, and its control socket."""

import asyncio
import contextlib
import os
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from styx_cli.keyring_agent import Keyring
from styx_cli.testing_ssh import SshHost

pytestmark = pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing())


class Control:
    """A shim's end of the control socket."""

    def __init__(self, keyring: Keyring) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(20)
        self._socket.connect(str(keyring.path))
        self._lines = self._socket.makefile("rwb")

    def say(self, line: str) -> str:
        self._lines.write(line.encode() + b"\n")
        self._lines.flush()
        return self._lines.readline().decode().rstrip("\n")

    def new(self) -> tuple[str, str]:
        path, _, public = self.say("new").partition(" ")
        return path, public

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    with SshHost(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("k")  # short: a socket's path must be
    made.chmod(0o700)
    return made


@pytest.fixture
def keyring(folder: Path) -> Iterator[Keyring]:
    made = Keyring(folder)
    with made.in_background():
        yield made


def logs_in(host: SshHost, agent: str) -> bool:
    done = subprocess.run(
        host.command("echo", "in"),
        env={"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": agent},
        capture_output=True,
        timeout=30,
    )
    assert done.returncode in (0, 255), done.stderr
    return done.stdout == b"in\n"


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_logs_in_with_its_certificate_only_while_the_call_lives(
    host: SshHost, keyring: Keyring
) -> None:
    control = Control(keyring)
    path, public = control.new()
    assert public.startswith("ssh-ed25519 AAAA")
    assert not logs_in(host, path)
    assert control.say(f"cert {path} {host.certify(public)}") == "ok"
    assert logs_in(host, path)
    control.close()
    assert eventually(lambda: not Path(path).exists())
    assert not logs_in(host, path)


def test_a_certificate_for_somebody_else_does_not_log_in(host: SshHost, keyring: Keyring) -> None:
    control = Control(keyring)
    path, public = control.new()
    certificate = host.certify(public, principal="nobody-here").split()[1]  # a bare blob will do
    assert control.say(f"cert {path} {certificate}") == "ok"
    assert not logs_in(host, path)
    control.close()


async def test_the_key_goes_when_the_certificate_ends(host: SshHost, folder: Path) -> None:
    # The keyring's clock runs beside the real one, to be close to the certificate's end.
    ahead = timedelta(minutes=5) - timedelta(seconds=2)
    keyring = Keyring(folder, lambda: datetime.now(UTC) + ahead)
    with keyring.in_background():
        control = Control(keyring)
        path, public = control.new()
        assert control.say(f"cert {path} {host.certify(public)}") == "ok"
        assert await asyncio.to_thread(eventually, lambda: not Path(path).exists())
        assert not logs_in(host, path)
        control.close()


def test_a_certificate_that_ended_or_is_of_another_key_is_refused(
    host: SshHost, keyring: Keyring
) -> None:
    control, other = Control(keyring), Control(keyring)
    path, public = control.new()
    other_path, other_public = other.new()
    assert other_public != public
    for line, words in [
        (f"cert {path} {host.certify(public, '-2h:-1h')}", "ended"),
        (f"cert {path} {host.certify(other_public)}", "isn't a user certificate for this key"),
        (f"cert {path} {public}", "isn't a whole, signed"),
        (f"cert {path} AAAA", "isn't a whole, signed"),
        (f"cert {path}", "isn't a whole, signed"),
        (f"cert {other_path} {host.certify(other_public)}", "made here"),
        (f"drop {path}", "say `new`"),
        ("", "say `new`"),
    ]:
        reply = control.say(line)
        assert reply.startswith("error: ")
        assert words in reply
    assert not logs_in(host, path)
    control.close()
    other.close()


def test_sockets_are_private_and_leave_no_trace(folder: Path, host: SshHost) -> None:
    keyring = Keyring(folder)
    with keyring.in_background():
        control = Control(keyring)
        path, public = control.new()
        control.say(f"cert {path} {host.certify(public)}")
        for socket_path in (keyring.path, Path(path)):
            assert stat.S_IMODE(socket_path.stat().st_mode) == 0o600
            assert stat.S_ISSOCK(socket_path.stat().st_mode)
    assert list(folder.iterdir()) == []
    control.close()


def test_nonsense_on_an_agent_socket_is_hung_up_on(keyring: Keyring) -> None:
    control = Control(keyring)
    path, _ = control.new()
    with socket.socket(socket.AF_UNIX) as agent:
        agent.settimeout(20)
        agent.connect(path)
        agent.sendall(b"\xff\xff\xff\xff" + b"x" * 64)
        with contextlib.suppress(ConnectionResetError):
            assert agent.recv(16) == b""
    assert control.new()[0] != path
    control.close()
