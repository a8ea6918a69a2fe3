"""Signals, stops and ends, through the shim as a process of its own: as if it weren't there."""

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from styx_cli.testing import Call, FakeBroker, Place, fields


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        yield fake


@pytest.fixture
def place(tmp_path: Path, broker: FakeBroker) -> Place:
    return Place.make(tmp_path, broker)


def test_ctrl_c_while_waiting(place: Place, broker: FakeBroker) -> None:
    over = threading.Event()

    def script(call: Call) -> Iterable[bytes]:
        yield fields("say=waiting")
        over.wait(20)

    broker.script = script
    process = place.start()
    assert process.stderr
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    over.set()
    assert (process.returncode, out) == (130, b"")
    assert b"stays open" in err


def test_signals_are_passed_on(place: Place) -> None:
    place.tool("#!/bin/sh\ntrap 'exit 7' TERM\necho up\nfor i in $(seq 400); do sleep 0.05; done\n")
    process = place.start()
    assert process.stdout
    process.stdout.readline()
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == 7


@pytest.mark.parametrize(
    ("name", "code", "reported"),
    [("TERM", -15, b"exit=143"), ("KILL", -9, b"exit=137"), ("SEGV", 139, b"exit=139")],
)
def test_ends_as_the_tool_ended(
    place: Place, broker: FakeBroker, name: str, code: int, reported: bytes
) -> None:
    place.tool(f"#!/bin/sh\nulimit -c 0\nkill -{name} $$\n")
    assert place.run()[0] == code
    assert broker.reports == [("exe_1", reported)]


def test_the_tool_finds_its_signals_as_they_were(place: Place) -> None:
    place.tool("#!/bin/sh\nexec grep -E 'SigBlk|SigIgn' /proc/self/status\n")
    bare = subprocess.run([str(place.tools / "acme")], capture_output=True, check=True).stdout
    # glibc keeps 32 and 33 for itself and lets a spawned child ignore them.
    assert _standard_signals(place.run()[1]) == _standard_signals(bare)


def _standard_signals(status: bytes) -> list[int]:
    return [int(line.split()[1], 16) & 0x7FFFFFFF for line in status.splitlines()]


def test_stops_and_goes_on_with_the_tool(place: Place) -> None:
    place.tool("#!/bin/sh\nkill -STOP $$\nexit 5\n")
    process = place.start()
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    process.send_signal(signal.SIGCONT)
    process.communicate(timeout=30)
    assert process.returncode == 5


def test_the_terminals_ctrl_c_reaches_the_tool_once(place: Place) -> None:
    # The tool stops the shim before Ctrl-C, so that two SIGINTs can't melt into one: it takes the
    # terminal's, and SIGUSR1 comes back from the shim behind whatever the shim passed on before.
    place.tool(
        f"""#!{sys.executable} -IS
import os, signal
shim = os.getppid()
signal.alarm(20)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGINT])
os.kill(shim, signal.SIGSTOP)
while open(f"/proc/{{shim}}/stat").read().rpartition(")")[2].split()[0] != "T":
    pass
print("up", flush=True)
signal.sigwait([signal.SIGINT])
os.kill(shim, signal.SIGUSR1)
os.kill(shim, signal.SIGCONT)
signal.sigwait([signal.SIGUSR1])
os._exit(3 if signal.SIGINT in signal.sigpending() else 2)
"""
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(place.shims / "acme", ["acme"], place.env)
    while b"up" not in os.read(terminal, 1024):
        pass
    os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 2
