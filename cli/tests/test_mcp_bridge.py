"""The bridge between a client's pipes and a played gateway: answers, progress, cancel, settings."""

import io
import subprocess
import sys
import threading
from typing import Any

import pytest
from styx_cli.exits import Exit
from styx_cli.mcp_bridge import main_fast
from styx_cli.mcp_bridge_testing import TOKEN, Gateway, Handler, bridged, echo, progress


def test_a_request_goes_as_the_task_and_its_answer_comes_back() -> None:
    with bridged(echo) as (client, gateway):
        client.say("initialize", 1, protocolVersion="2026-07-28", capabilities={})
        assert client.hear()["result"]["was"] == "initialize"
        client.say("tools/list", "two")
        assert client.hear()["id"] == "two"
    (first, headers), (_, later) = gateway.got
    assert first["params"]["protocolVersion"] == "2025-11-25"
    assert headers["Authorization"] == f"Bearer {TOKEN}"
    assert "MCP-Protocol-Version" not in headers
    assert later["MCP-Protocol-Version"] == "2025-06-18"


def test_an_older_protocol_is_asked_for_as_it_is() -> None:
    with bridged(echo) as (client, gateway):
        client.say("initialize", 1, protocolVersion="2025-06-18")
        client.hear()
    assert gateway.got[0][0]["params"]["protocolVersion"] == "2025-06-18"


def test_what_needs_no_server_is_answered_here() -> None:
    with bridged(echo) as (client, gateway):
        client.say("ping", 1)
        assert client.hear() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        client.say("server/discover", 2)
        assert client.hear()["error"]["code"] == -32601
        client.say("notifications/initialized")
    assert gateway.got == []


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"[" + b'{"jsonrpc":"2.0","id":1,"method":"ping"}' + b"]", -32600),
        (b"7", -32600),
        (b'{"id":1}', -32600),
        (b'{"id":1,"method":5}', -32600),
        (b'{"id":1,"method":"tools/call","params":[]}', -32600),
        (b'{"id":[1],"method":"tools/list"}', -32600),
        (b'{"id":true,"method":"tools/list"}', -32600),
        (b'{"id":1,"method":"' + b"x" * 1_100_000 + b'"}', -32600),
    ],
    ids=range(12),
)
def test_what_is_no_message_is_answered_and_the_bridge_goes_on(line: bytes, code: int) -> None:
    with bridged(echo) as (client, gateway):
        threading.Thread(target=client.raw, args=(line + b"\n\n",)).start()
        heard = client.hear()
        assert (heard["error"]["code"], heard["id"]) == (code, None)
        client.say("ping", 1)
        assert client.hear()["result"] == {}
    assert gateway.got == []


def test_progress_arrives_while_the_call_is_held() -> None:
    heard = threading.Event()

    def hold(handler: Handler, message: dict[str, Any]) -> None:
        say = handler.stream()
        say(progress(1))
        assert heard.wait(10)
        say({"jsonrpc": "2.0", "id": message["id"], "result": {"done": True}})

    with bridged(hold) as (client, _):
        client.say("tools/call", 1, name="request_access", arguments={})
        assert client.hear()["params"]["message"] == "waits"
        heard.set()
        assert client.hear()["result"] == {"done": True}


def test_calls_run_side_by_side() -> None:
    together = threading.Barrier(4)

    def meet(handler: Handler, message: dict[str, Any]) -> None:
        together.wait(10)
        echo(handler, message)

    with bridged(meet) as (client, _):
        for number in range(4):
            client.say("tools/list", number)
        assert sorted(client.hear()["id"] for _ in range(4)) == [0, 1, 2, 3]


def test_an_id_that_is_under_way_is_not_taken_twice() -> None:
    go = threading.Event()

    def hold(handler: Handler, message: dict[str, Any]) -> None:
        assert go.wait(10)
        echo(handler, message)

    with bridged(hold) as (client, _):
        client.say("tools/list", 1)
        client.say("tools/list", 1)
        assert client.hear()["error"]["code"] == -32600
        go.set()
        assert "result" in client.hear()


def test_a_cancelled_call_closes_its_connection_and_says_nothing_more() -> None:
    closed = threading.Event()

    def hold(handler: Handler, message: dict[str, Any]) -> None:
        if message["method"] != "tools/call":
            echo(handler, message)
            return
        handler.stream()(progress(1))
        assert handler.rfile.read(1) == b""
        closed.set()

    with bridged(hold) as (client, gateway):
        client.say("tools/call", 1, name="check_grant", arguments={})
        client.hear()
        client.say("notifications/cancelled", requestId=1)
        assert closed.wait(10)
        client.say("tools/list", 2)
        assert client.hear()["id"] == 2
        assert client.silent()
    assert len(gateway.got) == 2


def test_it_ends_with_stdin_and_gives_what_is_under_way_a_moment() -> None:
    def late(handler: Handler, message: dict[str, Any]) -> None:
        asked.set()
        assert go.wait(10)
        echo(handler, message)

    asked, go = threading.Event(), threading.Event()
    with bridged(late) as (client, _):
        client.say("tools/list", 1)
        assert asked.wait(10)
        threading.Timer(0.05, go.set).start()
        client.end()
        assert client.hear()["id"] == 1


@pytest.mark.parametrize(
    "argv", [["run"], [], ["mcp", "--help"], ["mcp", "--server"], ["mcp", "x"]]
)
def test_whatever_is_not_its_plain_form_is_left_to_the_command_line(argv: list[str]) -> None:
    assert main_fast(argv) is None


@pytest.mark.parametrize(
    ("environ", "argv", "said"),
    [
        ({}, [], "STYX_URL (or --server) isn't set"),
        ({"STYX_URL": "http://127.0.0.1:1"}, [], "STYX_TOKEN (or --token) isn't set"),
        ({"STYX_TOKEN": TOKEN}, ["--server=ftp://x"], "http(s)://host:port"),
        ({"STYX_URL": "http://127.0.0.1:99999", "STYX_TOKEN": TOKEN}, [], "can't be used"),
        ({"STYX_URL": "http://127.0.0.1:1"}, ["--token", "FIXTURE two"], "plain letters"),
    ],
)
def test_a_missing_setting_is_named_and_no_token_is_shown(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    environ: dict[str, str],
    argv: list[str],
    said: str,
) -> None:
    for name in ("STYX_URL", "STYX_TOKEN", "STYX_KEYRING"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert main_fast(["mcp", *argv]) == Exit.CONFIG
    shown = capsys.readouterr()
    assert said in shown.err
    assert "FIXTURE" not in shown.err + shown.out


def test_a_script_may_pipe_its_requests_in_and_close() -> None:
    code = (
        "import sys; from styx_cli.mcp_bridge import main_fast; sys.exit(main_fast(sys.argv[1:]))"
    )
    with Gateway(echo).serving() as gateway:
        argv = ["mcp", "--server", f"http://127.0.0.1:{gateway.server_port}", f"--token={TOKEN}"]
        for _ in range(8):
            done = subprocess.run(
                [sys.executable, "-c", code, *argv],
                input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
                capture_output=True,
                timeout=30,
            )
            assert (done.returncode, done.stderr) == (0, b"")
            assert b'"was":"tools/list"' in done.stdout


def test_it_imports_nothing_but_the_standard_library_and_its_own() -> None:
    code = (
        "import sys; import styx_cli.mcp_bridge;"
        "known = set(sys.stdlib_module_names) | {'styx_cli', '__main__'};"
        "print(sorted(n for n in map(lambda m: m.partition('.')[0], sys.modules)"
        " if n not in known and not n.startswith(('_', 'sitecustomize', 'usercustomize'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"
