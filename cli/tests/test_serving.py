"""The embedded stack as a process: what its starter is told, and a start that can't be."""

import re
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from styx_cli.commands.up import foreground
from styx_cli.engines.run import Engines
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.serving import WONT_START, welcome
from styx_cli.stack import Stack

URL = "http://127.0.0.1:4100"


def told(link: str | None) -> list[str]:
    stack = Stack(URL, Path("/s"), cast(Engines, None), link, {})
    text = welcome(stack, Path("/data"))
    assert text.endswith("\n"), "an empty line ends it"
    return text.splitlines()


def test_the_first_start_shows_the_admin_link_once() -> None:
    lines = told(f"{URL}/admin#styx_adm_FIXTURE")
    assert lines[0] == f"Styx is at {URL} (data in /data)"
    assert lines[1] == f"Admin link, for once: {URL}/admin#styx_adm_FIXTURE"
    assert "in a browser" in lines[2]
    assert "`styx login`" in lines[3]
    assert "STYX_ADMIN_TOKEN" in lines[3]


def test_a_later_start_shows_how_to_connect_and_no_link() -> None:
    lines = told(None)
    assert "admin" not in "\n".join(lines).lower()
    styx = Path(sys.executable).parent / "styx"
    assert f"{styx} connect claude" in lines[1]
    assert f"{styx} run -- claude" in lines[2]


def refused(folder: Path, **ports: int) -> str:
    said: list[str] = []
    with pytest.raises(Failure) as told:
        foreground(folder, {"nats": 0, **ports})
    assert told.value.code is Exit.UNAVAILABLE
    assert not said
    return told.value.text


def test_a_data_folder_that_cant_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert re.match(r"Styx could not start: .*file", refused(tmp_path / "file" / "styx"))


def test_a_key_that_others_could_have_read(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    key = tmp_path / "styx.key"
    key.write_text("FIXTURE")
    key.chmod(0o644)
    said = refused(tmp_path)
    assert "styx.key" in said
    assert "FIXTURE" not in said


def test_a_start_fails_with_a_text_whatever_it_was() -> None:
    kinds: tuple[Any, ...] = WONT_START
    for error in (OSError("x"), TimeoutError("x"), ValueError("x"), LookupError("x")):
        assert isinstance(error, kinds)
    assert not issubclass(KeyboardInterrupt, kinds)
