"""Channels, against a real HTTP server that checks signatures with the standard's own library."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from adapter_fixture import MemoryVault, StubAdapter, state
from standardwebhooks import Webhook, WebhookVerificationError
from styx_adapters import channels
from styx_adapters.handlers import State
from styx_adapters.handlers_notices import drop_channel, keep_channel, tell
from styx_core.contract.adapters_notices import DropChannel, KeepChannel, Notice, Tell
from styx_core.errors import Invalid, NotConnected, ProviderFailed
from styx_core.ids import new_id
from styx_core.seal import connect_info, seal

KEY = f"whsec_{base64.b64encode(b'FIXTURE key of a webhook').decode()}"
HOOK = {"url": "https://hooks.example/styx", "secret": KEY}


class Receiver(ThreadingHTTPServer):
    """Keeps what it gets, and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Receiving)
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.status = 204

    @property
    def at(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class Receiving(BaseHTTPRequestHandler):
    """One request."""

    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        heads = {name.lower(): value for name, value in self.headers.items()}
        self.server.got.append((self.path, heads, body))
        self.send_response(self.server.status)
        if self.server.status in (302, 307):
            self.send_header("Location", f"http://{self.server.at}/elsewhere")
        self.end_headers()

    def log_message(self, *_words: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def notice() -> Notice:
    return Notice(
        id=new_id("ntc"),
        kind="access.requested",
        at=datetime.now(UTC),
        title="delete on prod waits for you",
        text="claude asks.",
        link="https://styx.example/grants/grt_1",
        about={"project": "shop"},
    )


async def test_a_webhook_is_signed_as_the_standard_says(receiver: Receiver) -> None:
    said, secret = notice(), {"url": f"http://{receiver.at}/hook", "secret": KEY}
    await channels.send(secret, said, datetime.now(UTC))
    ((path, heads, body),) = receiver.got
    assert path == "/hook"
    Webhook(KEY).verify(body, heads)
    assert heads["webhook-id"] == said.id
    told = json.loads(body)
    assert (told["type"], told["data"]["project"]) == ("access.requested", "shop")
    assert told["data"]["link"] == said.link
    with pytest.raises(WebhookVerificationError):
        Webhook(KEY).verify(body.replace(b"shop", b"shed"), heads)


@pytest.mark.parametrize("status", [302, 307, 400, 410, 500])
async def test_what_isn_t_taken_is_said_so_and_no_redirect_followed(
    receiver: Receiver, status: int
) -> None:
    receiver.status = status
    secret = {"url": f"http://{receiver.at}/hook", "secret": KEY}
    with pytest.raises(ProviderFailed, match=str(status)):
        await channels.send(secret, notice(), datetime.now(UTC))
    assert [path for path, _, _ in receiver.got] == ["/hook"]


async def test_apprise_sends_title_text_and_link(receiver: Receiver) -> None:
    said = notice()
    await channels.send({"url": f"json://{receiver.at}/told"}, said, datetime.now(UTC))
    ((path, _, body),) = receiver.got
    told = json.loads(body)
    assert (path, told["title"]) == ("/told", said.title)
    assert told["message"] == f"{said.text}\n{said.link}"
    receiver.status = 500
    with pytest.raises(ProviderFailed, match="did not take"):
        await channels.send({"url": f"json://{receiver.at}"}, said, datetime.now(UTC))


@pytest.mark.parametrize(
    ("secret", "label"),
    [
        (HOOK, "webhook hooks.example"),
        ({"url": "http://localhost:81/x", "secret": KEY}, "webhook localhost:81"),
        ({"url": "ntfy://FIXTURE-topic"}, "ntfy"),
        ({"url": "mailtos://u:FIXTURE@mail.example"}, "E-Mail mail.example"),
    ],
)
def test_a_channel_is_called_by_what_is_not_secret(secret: dict[str, str], label: str) -> None:
    assert channels.checked(secret) == label


@pytest.mark.parametrize(
    ("secret", "why"),
    [
        ({"url": "http://FIXTURE.example", "secret": KEY}, "https"),
        ({"url": "file:///FIXTURE", "secret": KEY}, "https"),
        ({"url": "https://u:FIXTURE@h.example", "secret": KEY}, "no user"),
        ({"url": "https://[FIXTURE", "secret": KEY}, "not an address"),
        ({"url": "https://", "secret": KEY}, "has a host"),
        ({**HOOK, "secret": "whsec_FIXTURE"}, "whsec_"),
        ({**HOOK, "secret": KEY.removeprefix("whsec_")}, "whsec_"),
        ({"url": "FIXTURE://nothing"}, "no address that apprise knows"),
        ({"url": "syslog://FIXTURE"}, "no address that apprise knows"),
        ({"url": ""}, "no address that apprise knows"),
        ({**HOOK, "FIXTURE-more": "1"}, "a url and a secret"),
    ],
)
def test_no_other_address_is_kept_or_quoted(secret: dict[str, str], why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        channels.checked(secret)
    assert "FIXTURE" not in refused.value.detail or "FIXTURE-more" in secret


async def test_a_channel_is_kept_in_vault_used_and_dropped(receiver: Receiver) -> None:
    vault = MemoryVault({})
    service: State = state(StubAdapter(), vault)
    secret = {"url": f"http://{receiver.at}/hook", "secret": KEY}
    channel = new_id("chn")
    box = seal(secret, service.key.public, connect_info(channel))
    kept = await keep_channel(KeepChannel(channel_id=channel, box=box), service)
    assert kept.label == f"webhook {receiver.at}"
    await tell(Tell(channel_id=channel, notice=notice()), service)
    assert len(receiver.got) == 1
    other = new_id("chn")
    with pytest.raises(Invalid, match="box"):
        await keep_channel(KeepChannel(channel_id=other, box=box), service)
    await drop_channel(DropChannel(channel_id=channel), service)
    assert vault.held == {}
    with pytest.raises(NotConnected):
        await tell(Tell(channel_id=channel, notice=notice()), service)


async def test_who_does_not_answer_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "ANSWER_SECONDS", 0.2)
    silent = await asyncio.start_server(lambda _r, _w: asyncio.sleep(5), "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    secret = {"url": f"http://127.0.0.1:{port}/", "secret": KEY}
    with pytest.raises(ProviderFailed, match="can't be reached"):
        await channels.send(secret, notice(), datetime.now(UTC))
    silent.close()
