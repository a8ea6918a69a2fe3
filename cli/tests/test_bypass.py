"""A tool called by its full path is noticed; one that its shim has started is not."""

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from styx_cli.bypass import CHILDREN, Lookout, Process, bypassing, read_process, real_paths

SHIMS = "/run/styx/bin"
TOOLS = {"/usr/bin/aws": "aws", "/usr/bin/gh": "gh"}
PYTHON = "/usr/bin/python3"


def process(*words: str, program: str = "", children: tuple[int, ...] = ()) -> Process:
    return Process(program or words[0], words, children)


def found(tree: Mapping[int, Process]) -> dict[int, str]:
    return bypassing(1, tree.get, TOOLS, SHIMS)


def test_a_program_and_a_script_are_found_wherever_they_are_below_the_agent() -> None:
    tree = {
        1: process("/usr/bin/agent", children=(2, 3)),
        2: process("/bin/sh", "-c", children=(4,)),
        3: process("/usr/bin/gh", "repo"),
        4: process(PYTHON, "/usr/bin/aws", "s3"),
    }
    assert found(tree) == {3: "gh", 4: "aws"}


def test_what_a_shim_has_started_is_as_it_should_be() -> None:
    tree = {
        1: process("/usr/bin/agent", children=(2,)),
        2: process(PYTHON, "-IS", f"{SHIMS}/aws", children=(3,)),
        3: process(PYTHON, "/usr/bin/aws", "s3"),
    }
    assert found(tree) == {}


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {1: process("/usr/bin/agent", children=(2,))},
        {1: process("/usr/bin/gh", children=())},
        {1: process("/bin/agent", children=(2,)), 2: process("/bin/cat", "x", "/usr/bin/gh")},
        {1: process("/bin/agent", children=(2,)), 2: process("gh", program="/opt/other/gh")},
    ],
    ids=["nobody", "gone", "the agent itself", "as a later word", "another program's name"],
)
def test_nothing_else_is_found(tree: Mapping[int, Process]) -> None:
    assert found(tree) == {}


def test_a_tools_real_file_is_known_through_links(tmp_path: Path) -> None:
    for name in ("shims", "bin", "opt"):
        (tmp_path / name).mkdir()
    real = tmp_path / "opt" / "aws-cli"
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    (tmp_path / "bin" / "aws").symlink_to(real)
    (tmp_path / "shims" / "aws").write_text("#!/bin/sh\n")
    (tmp_path / "shims" / "aws").chmod(0o755)
    path = f"{tmp_path}/shims:{tmp_path}/bin:/nowhere"
    assert real_paths({"aws": "env"}, path, f"{tmp_path}/shims") == {str(real): "aws"}


needs_lists = pytest.mark.skipif(not CHILDREN.exists(), reason="no /proc/…/children here")


@needs_lists
def test_a_real_process_is_read_with_its_children() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        mine = read_process(os.getpid())
        its = read_process(child.pid)
        child.stdin.write(b"\n")
        child.stdin.close()
    assert mine is not None
    assert child.pid in mine.children
    assert its is not None
    assert os.path.realpath(sys.executable) in (its.program, *its.words)
    assert read_process(child.pid) is None


@needs_lists
def test_the_lookout_tells_of_each_once_and_stops() -> None:
    told: list[str] = []
    heard = threading.Event()

    def tell(tool: str) -> None:
        told.append(tool)
        heard.set()

    real = {os.path.realpath(sys.executable): "python"}
    lookout = Lookout(os.getpid(), real, SHIMS, tell)
    with (
        subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child,
        lookout.watching(),
    ):
        assert heard.wait(20)
        lookout.once()
        assert child.stdin is not None
        child.stdin.close()
    assert told == ["python"]
    assert not [t for t in threading.enumerate() if t.name == "lookout"]
