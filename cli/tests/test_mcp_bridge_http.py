"""The way to the server: what is tried again, what never is, and how a refusal reads."""

import socket
from typing import Any

import pytest
from styx_cli import mcp_bridge
from styx_cli.mcp_bridge_call import REPEATABLE
from styx_cli.mcp_bridge_testing import Client, Gateway, Handler, bridged, echo, progress


def test_a_call_waits_for_a_server_that_is_not_there_yet() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    client = Client(f"http://127.0.0.1:{port}")
    client.say("tools/call", 1, name="get_credential", arguments={})
    client.say("ping", 2)
    assert client.hear()["id"] == 2
    with Gateway(echo, port).serving():
        assert client.hear()["id"] == 1
        client.end()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, {}) for name in REPEATABLE if name != "request_access"),
        ("request_access", {"duration": "1h"}),
    ],
)
def test_a_held_call_outlives_a_restart_and_its_progress_only_grows(
    name: str, arguments: dict[str, Any]
) -> None:
    seen: list[int] = []

    def die_once(handler: Handler, message: dict[str, Any]) -> None:
        seen.append(1)
        say = handler.stream()
        for n in (1, 2):
            say(progress(n))
        if len(seen) == 1:
            handler.cut()
        else:
            say({"jsonrpc": "2.0", "id": message["id"], "result": {}})

    with bridged(die_once) as (client, _):
        client.say("tools/call", 1, name=name, arguments=arguments)
        assert [client.hear()["params"]["progress"] for _ in range(4)] == [1, 2, 3, 4]
        assert client.hear()["result"] == {}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("get_credential", {}), ("request_access", {"duration": "once"})),
        *(("send_message", {}), ("land", {})),
    ],
)
def test_what_could_be_done_twice_is_not_sent_twice(name: str, arguments: dict[str, Any]) -> None:
    with bridged(lambda handler, _message: handler.cut()) as (client, gateway):
        client.say("tools/call", 1, name=name, arguments=arguments)
        result = client.hear()["result"]
    assert result["isError"]
    assert "may have been done" in result["content"][0]["text"]
    assert len(gateway.got) == 1


def test_a_server_that_says_try_again_is_tried_again() -> None:
    def busy_once(handler: Handler, message: dict[str, Any]) -> None:
        if len(handler.server.got) == 1:
            handler.plain({"error": {"message": "the bus is away"}}, 503)
        else:
            echo(handler, message)

    with bridged(busy_once) as (client, _):
        client.say("tools/call", 1, name="get_credential", arguments={})
        assert "result" in client.hear()


def test_a_dead_token_is_said_at_once_in_the_servers_words() -> None:
    def refuse(handler: Handler, _message: dict[str, Any]) -> None:
        handler.plain({"error": {"message": "this token's task has ended (code -32002)"}}, 401)

    with bridged(refuse) as (client, gateway):
        client.say("initialize", 1)
        assert client.hear()["error"]["message"] == "this token's task has ended (code -32002)"
        client.say("tools/call", 2, name="list_targets", arguments={})
        result = client.hear()["result"]
        assert result["isError"]
        assert result["content"][0]["text"] == "this token's task has ended (code -32002)"
    assert len(gateway.got) == 2


@pytest.mark.parametrize("body", ["<html>", "[]", '{"error":7}'])
def test_another_kind_of_server_is_named(body: str) -> None:
    def other(handler: Handler, _message: dict[str, Any]) -> None:
        handler.send_response(404)
        handler.end_headers()
        handler.wfile.write(body.encode())

    with bridged(other) as (client, _):
        client.say("tools/list", 1)
        assert client.hear()["error"]["message"] == "Styx answered HTTP 404"


def test_a_server_that_stays_away_is_named_and_nothing_was_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_bridge, "RECONNECT", 0.2)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        client = Client(f"http://127.0.0.1:{held.getsockname()[1]}")
        client.say("tools/call", 1, name="request_access", arguments={})
        text = client.hear()["result"]["content"][0]["text"]
        client.end()
    assert text.startswith("Styx can't be reached at 127.0.0.1")
    assert "nothing was done" in text


@pytest.mark.parametrize("answer", [[], "text", 7, None])
def test_an_answer_that_is_no_message_is_no_answer(answer: Any) -> None:
    with bridged(lambda handler, _message: handler.plain(answer)) as (client, _):
        client.say("tools/call", 1, name="get_credential", arguments={})
        assert "ValueError" in client.hear()["result"]["content"][0]["text"]


@pytest.mark.parametrize("arguments", [[], "text", 7])
@pytest.mark.parametrize("name", ["get_credential", "request_access", None])
def test_arguments_that_are_none_are_the_servers_to_refuse(name: Any, arguments: Any) -> None:
    with bridged(echo, keyring="/nowhere") as (client, gateway):
        client.say("tools/call", 1, name=name, arguments=arguments)
        assert "result" in client.hear()
    assert gateway.got[0][0]["params"]["arguments"] == arguments
