"""Where the commands find the broker, and what they say when something is wrong."""

import json
import socket
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
from styx_cli.client import Address, Client, data_folder, find_broker, plain_errors, words
from styx_cli.exits import MEANING, Exit
from styx_cli.failure import Failure
from styx_cli.testing import ADMIN, FakeBroker


def stack(data: Path, text: str) -> None:
    (data / "run").mkdir(parents=True)
    (data / "run" / "stack.json").write_text(text)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"STYX_DATA": "/d", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/d"),
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/styx"),
        ({"HOME": "/h"}, "/h/.local/share/styx"),
    ],
)
def test_the_data_folder(environ: Mapping[str, str], folder: str) -> None:
    assert data_folder(environ) == Path(folder)


def test_a_local_stack_comes_before_the_url(tmp_path: Path) -> None:
    environ = {"STYX_DATA": str(tmp_path), "STYX_URL": "http://elsewhere"}
    assert find_broker(environ) == Address("http://elsewhere")
    stack(tmp_path, json.dumps({"url": "http://127.0.0.1:4100", "socket": "/s"}))
    assert find_broker(environ) == Address("http://127.0.0.1:4100", "/s")


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", "\xff"])
def test_a_broken_stack_file_is_named(tmp_path: Path, text: str) -> None:
    stack(tmp_path, text)
    with pytest.raises(Failure, match=r"stack\.json can't be read") as caught:
        find_broker({"STYX_DATA": str(tmp_path)})
    assert caught.value.code is Exit.CONFIG


def test_no_stack_at_all(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="styx up"):
        find_broker({"STYX_DATA": str(tmp_path)})


def test_speaks_over_the_local_socket(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("c")
    with FakeBroker(socket=data / "sock") as fake:
        stack(data, json.dumps({"url": "http://styx.invalid", "socket": str(data / "sock")}))
        client = Client.from_environ({"STYX_DATA": str(data)})
        assert client.call("POST", "/v1/tasks", {"agent": "a"})["id"] == "tsk_1"
        client.close()
    assert fake.tasks == [{"agent": "a"}]


def test_a_problem_in_plain_words() -> None:
    with FakeBroker() as fake:
        client = Client(Address(fake.url), "FIXTURE-wrong")
        with pytest.raises(Failure) as caught:
            client.call("POST", "/v1/tasks", {})
        client.close()
        assert caught.value.code is Exit.CONFIG
        assert caught.value.text.splitlines() == [
            "Not signed in.",
            "The token isn't known.",
            "Set STYX_ADMIN_TOKEN.",
        ]
        environ = {"STYX_URL": fake.url, "STYX_ADMIN_TOKEN": ADMIN, "STYX_DATA": "/nonexistent"}
        client = Client.from_environ(environ)
        with pytest.raises(Failure) as caught:
            client.call("POST", "/v1/nothing")
        client.close()
        assert (caught.value.code, caught.value.text) == (Exit.USAGE, "No such page.")


def test_nobody_there() -> None:
    client = Client(Address("http://127.0.0.1:1"))
    with pytest.raises(Failure, match="styx up") as caught:
        client.call("GET", "/v1/status")
    client.close()
    assert caught.value.code is Exit.UNAVAILABLE


def test_a_broker_that_is_just_coming_up_is_waited_for() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        client = Client(Address(f"http://127.0.0.1:{listener.getsockname()[1]}"))
        coming_up = threading.Timer(0.1, listener.listen)
        answer = threading.Thread(target=_answer_once, args=(listener, coming_up))
        coming_up.start()
        answer.start()
        assert client.call("GET", "/v1/status") == {}
        client.close()
        answer.join()


def _answer_once(listener: socket.socket, coming_up: threading.Timer) -> None:
    coming_up.join()
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n{}")


def _whole_request(connection: socket.socket) -> bytes:
    """Head and body: closing with something unread would reset the connection."""
    got = b""
    while b'"grt_1"}' not in got:
        more = connection.recv(65536)
        if not more:
            return b""
        got += more
    return got


@pytest.mark.parametrize(
    ("reply", "said"),
    [(b"", "look before you repeat it"), (b"HTTP/1.0 200 OK\r\n\r\n<html>", "isn't Styx's")],
)
def test_what_was_sent_is_never_sent_twice(reply: bytes, said: str) -> None:
    asked = 0

    def serve(listener: socket.socket) -> None:
        nonlocal asked
        while True:
            connection, _ = listener.accept()
            with connection:
                if not _whole_request(connection):
                    return
                asked += 1
                connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        port = listener.getsockname()[1]
        client = Client(Address(f"http://127.0.0.1:{port}"))
        with pytest.raises(Failure, match=said):
            client.call("POST", "/v1/grants/approve", {"grant": "grt_1"})
        client.close()
        socket.create_connection(("127.0.0.1", port)).close()
        thread.join()
    assert asked == 1


def test_the_edge_prints_and_exits(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught, plain_errors():
        raise Failure("no\x1b[2J\nnext", Exit.DENIED)
    assert caught.value.code == 77
    assert capsys.readouterr().err == "styx: no?[2J\nstyx: next\n"


def test_words_never_come_out_empty() -> None:
    assert words({}, 500) == "Styx answered HTTP 500 and no reason."
    assert words({"title": "No.", "detail": "No."}, 403) == "No."
    assert set(MEANING) == set(Exit)
