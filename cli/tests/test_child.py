"""Finding the real tool: what counts as one and what is passed over."""

import os
from pathlib import Path

import pytest
from styx_cli.child import MARK, find_tool, leave, shell_code, spawn, wait


def program(folder: Path, text: bytes = b"#!/bin/sh\n", mode: int = 0o755) -> Path:
    folder.mkdir()
    path = folder / "acme"
    path.write_bytes(text)
    path.chmod(mode)
    return path


def path_of(*folders: Path) -> bytes:
    return b":".join(os.fsencode(folder) for folder in folders)


def test_the_first_program_that_is_no_shim(tmp_path: Path) -> None:
    shim = program(tmp_path / "shim", b"#!/bin/sh\n" + MARK + b"\n")
    plain = program(tmp_path / "plain", mode=0o644)
    (tmp_path / "folder" / "acme").mkdir(parents=True)
    real = program(tmp_path / "real")
    path = path_of(tmp_path / "none", shim.parent, plain.parent, tmp_path / "folder", real.parent)
    assert find_tool(b"acme", path) == os.fsencode(real)
    assert find_tool(b"acme", path_of(shim.parent)) is None


def test_its_own_folder_is_passed_over_by_any_name(tmp_path: Path) -> None:
    own = program(tmp_path / "own").parent
    (tmp_path / "alias").symlink_to(own)
    real = program(tmp_path / "real")
    path = path_of(tmp_path / "alias", real.parent)
    assert find_tool(b"acme", path, os.fsencode(own)) == os.fsencode(real)


def test_an_empty_part_of_path_is_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(program(tmp_path / "here").parent)
    assert find_tool(b"acme", b"/nonexistent:") == b"./acme"


def test_the_shells_words_for_an_end() -> None:
    assert [shell_code(0), shell_code(7), shell_code(-15)] == [0, 7, 143]


@pytest.mark.parametrize(("status", "ends"), [(0, 0), (7, 7), (-15, -15), (-9, -9), (-11, 139)])
def test_leaves_as_the_child_did(status: int, ends: int) -> None:
    pid = os.fork()
    if pid == 0:
        leave(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == ends


def test_what_cannot_be_run_leaves_the_signals_alone(tmp_path: Path) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            spawn(b"/nonexistent", [b"x"], {})
        except OSError:
            status = wait(spawn(b"/bin/sh", [b"sh", b"-c", b"kill -TERM $$"], {}))
            code = 0 if status == -15 else 2
        os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0
