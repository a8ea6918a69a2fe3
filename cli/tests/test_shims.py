"""The folder of shims: what is in it, with which modes, and how it changes."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from styx_cli.shims import LONGEST_FIRST_LINE, write_shims, write_styx


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_one_shim_for_each_tool_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "bin"
    write_shims(folder, {"aws": "env", "gone": "env"})
    write_shims(folder, {"aws": "env", "ssh": "ssh-agent"})
    assert sorted(path.name for path in folder.iterdir()) == ["aws", "ssh"]
    assert (mode(folder), mode(folder / "aws")) == (0o700, 0o755)
    text = (folder / "ssh").read_text()
    assert text.startswith(f"#!{sys.executable} -IS\n")
    assert "start('ssh', 'ssh-agent', " in text


def test_styx_itself_is_beside_them(tmp_path: Path) -> None:
    write_shims(tmp_path, {"aws": "env"})
    write_styx(tmp_path)
    done = subprocess.run([str(tmp_path / "styx"), "mcp"], env={}, capture_output=True, text=True)
    assert (done.returncode, "STYX_URL" in done.stderr) == (78, True)


@pytest.mark.parametrize("tool", ["", "../aws", "a/b", ".hidden", "a b", "a\n", "-x", "a'"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path: Path, tool: str) -> None:
    with pytest.raises(ValueError, match="can't be a shim's name"):
        write_shims(tmp_path / "bin", {tool: "env"})
    assert not (tmp_path / "bin").exists()


def test_an_unknown_kind_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'agent'"):
        write_shims(tmp_path / "bin", {"aws": "agent"})


def test_an_interpreter_that_no_first_line_can_name(tmp_path: Path) -> None:
    deep = tmp_path / ("it's a long way " + "x" * LONGEST_FIRST_LINE)
    deep.mkdir()
    python = deep / "python"
    python.symlink_to(sys.executable)
    write_shims(tmp_path / "bin", {"acme": "env"}, str(python))
    done = subprocess.run([str(tmp_path / "bin" / "acme"), "a'b"], env={}, capture_output=True)
    assert done.returncode == 78
    assert b"STYX_TOKEN" in done.stderr
