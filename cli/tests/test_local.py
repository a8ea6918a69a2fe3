"""The stack on this machine, as `styx up` writes it down and as anything else might."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from styx_cli.local import Local, read_stack, until


def written(folder: Path, content: Any) -> Path:
    (folder / "run").mkdir()
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    (folder / "run" / "stack.json").write_bytes(text)
    return folder


def stack(pid: Any) -> dict[str, Any]:
    return {"url": "http://127.0.0.1:1", "socket": "/s", "pid": pid}


def test_a_stack_that_lives(tmp_path: Path) -> None:
    found = read_stack(written(tmp_path, stack(os.getpid())))
    assert found == Local("http://127.0.0.1:1", "/s", os.getpid())


def test_a_stack_that_died_without_a_word(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert read_stack(written(tmp_path, stack(child.pid))) is None


def test_no_stack(tmp_path: Path) -> None:
    assert read_stack(tmp_path) is None
    assert read_stack(tmp_path / "absent") is None
    (tmp_path / "run" / "stack.json").mkdir(parents=True)
    assert read_stack(tmp_path) is None, "a folder where the file should be"


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"\xff\xfe", b"null", b"[]", b"7", b'"text"', {}, {"url": "http://x"}),
        *({**stack(1), "more": 1}, stack(None), stack("7"), stack([1]), stack(1.5), stack(10**30)),
    ],
)
def test_what_is_no_stack(tmp_path: Path, content: Any) -> None:
    assert read_stack(written(tmp_path, content)) is None


@pytest.mark.parametrize("pid", [0, -1, -os.getpid(), False])
def test_what_a_signal_would_reach_too_many_with(tmp_path: Path, pid: Any) -> None:
    assert read_stack(written(tmp_path, stack(pid))) is None


def test_waiting_for_what_comes_and_for_what_does_not() -> None:
    seen = iter([False, 0, "it is so"])
    assert until(lambda: next(seen), 30) is True
    assert until(lambda: False, 0.1) is False
