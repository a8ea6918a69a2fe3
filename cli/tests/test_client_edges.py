"""What the commands say of an address, a stream or a file that is no good."""

import errno
import json
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from styx_cli import client as client_module
from styx_cli.client import Address, Client, find_broker, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that is away is asked for once."""
    monkeypatch.setattr(client_module, "CONNECT_TRIES", 1)


def refused(fn: Callable[[], object]) -> Failure:
    with pytest.raises(Failure) as told:
        fn()
    return told.value


@pytest.mark.parametrize("url", ["broker:4100", "http://x:port", "ftp://x", "/run/s", ""])
def test_what_is_no_address(url: str) -> None:
    failure = refused(lambda: Client(Address(url)).call("GET", "/v1/tasks"))
    assert failure.code is Exit.CONFIG
    assert failure.text == f"{url!r} is no address: say http(s)://host:port. Check STYX_URL."


@pytest.mark.parametrize("wrong", [5, [], {"a": 1}, True])
def test_a_stack_file_with_another_kind_of_socket(tmp_path: Path, wrong: object) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "stack.json").write_text(json.dumps({"url": "http://x", "socket": wrong}))
    client = Client(find_broker({"STYX_DATA": str(tmp_path)}))
    assert refused(lambda: client.call("GET", "/v1/tasks")).code is Exit.UNAVAILABLE
    client.close()


def test_a_folder_where_the_stack_file_should_be(tmp_path: Path) -> None:
    (tmp_path / "run" / "stack.json").mkdir(parents=True)
    failure = refused(lambda: find_broker({"STYX_DATA": str(tmp_path)}))
    assert failure.code is Exit.CONFIG
    assert "stack.json can't be read (IsADirectoryError)" in failure.text


def test_a_long_answer_from_nobody() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        client = Client(Address(f"http://127.0.0.1:{closed.getsockname()[1]}"))
        failure = refused(lambda: list(client.lines("/audit/export")))
    assert failure.code is Exit.UNAVAILABLE
    assert "can't be reached" in failure.text
    client.close()


def test_a_file_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end, plain_errors():
        (tmp_path / "absent").read_text()
    assert end.value.code == Exit.USAGE
    said = capsys.readouterr().err
    assert said == f"styx: {tmp_path}/absent: No such file or directory\n"


def test_a_reader_that_went_away_is_not_our_failure() -> None:
    with pytest.raises(BrokenPipeError), plain_errors():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
