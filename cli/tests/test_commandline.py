"""The table of commands, seen from outside: each is there under its own name and answers --help."""

import os
import subprocess
import sys

import pytest
from styx_cli.commandline import COMMANDS


def styx(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    surroundings = {**os.environ, "COLUMNS": "200", **env}
    return subprocess.run(
        [sys.executable, "-m", "styx_cli", *words],
        env=surroundings,
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_command_once_by_its_name() -> None:
    listed = [line.split()[1] for line in styx("--help").stdout.splitlines() if "│ " in line[:3]]
    assert [name for name in listed if name in COMMANDS] == list(COMMANDS)


@pytest.mark.parametrize("name", ["grants", "approve", "audit", "targets", "up"])
def test_a_command_answers_help(name: str) -> None:
    done = styx(name, "--help")
    assert done.returncode == 0
    assert f"styx {name}" in done.stdout


def test_an_unknown_command_is_named() -> None:
    done = styx("grnats")
    assert done.returncode == 2
    assert "grnats" in done.stderr


def test_no_stack_is_said_in_plain_words(tmp_path: os.PathLike[str]) -> None:
    done = styx("status", STYX_DATA=str(tmp_path), STYX_URL="")
    assert done.returncode == 78
    assert "styx up" in done.stderr
    assert "Traceback" not in done.stderr


def test_completion_knows_the_commands() -> None:
    script = styx("completion", "bash")
    assert "_STYX_COMPLETE" in script.stdout
    asked = {"_STYX_COMPLETE": "complete_bash", "COMP_WORDS": "styx gra", "COMP_CWORD": "1"}
    assert styx(**asked).stdout.split() == ["grants"]
