"""nats-server as the embedded stack starts it: users hold, streams outlive a kill."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import httpx
import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from nats.errors import Error, NoRespondersError
from nats.js.api import StreamConfig
from styx_cli.engines.run import Engines, prepare, running_engines
from styx_core import keyring
from styx_core.nats_conf import NatsUser, bootstrap_user

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

LISTS = {
    "writer": {
        "publish": ("facts.>", "ask.clock", "$JS.API.STREAM.INFO.*"),
        "subscribe": ("_INBOX_writer.>",),
    },
    "clock": {"publish": (), "subscribe": ("ask.clock",), "allow_responses": True},
    "mute": {"publish": (), "subscribe": ()},
}


def users(root: bytes) -> dict[str, NatsUser]:
    found = {
        name: NatsUser(keyring.nats_public_key(root, name), **lists)  # type: ignore[arg-type]
        for name, lists in LISTS.items()
    }
    found["bootstrap"] = bootstrap_user(
        keyring.nats_public_key(root, "bootstrap"), "_INBOX_bootstrap"
    )
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data, users(prepare(data))) as started:
        yield started


Connect = Callable[[str], Awaitable[tuple[Client, list[str]]]]


@pytest_asyncio.fixture(loop_scope="module")
async def connect(engines: Engines) -> AsyncIterator[Connect]:
    """Sign in as a user; also answers the list in which the server's complaints arrive."""
    opened: list[Client] = []

    async def sign_in(user: str) -> tuple[Client, list[str]]:
        complaints: list[str] = []

        async def complain(error: Exception) -> None:
            complaints.append(str(error).lower())

        client = await nats.connect(
            engines.nats_url,
            nkeys_seed_str=keyring.nats_seed(engines.root, user),
            inbox_prefix=f"_INBOX_{user}".encode(),
            error_cb=complain,
            reconnect_time_wait=0.05,
            max_reconnect_attempts=-1,
        )
        opened.append(client)
        return client, complaints

    yield sign_in
    await asyncio.gather(*(client.close() for client in opened))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def refused(complaints: list[str], subject: str) -> None:
    await until(lambda: any(subject.lower() in said for said in complaints))
    assert any("permissions violation" in said for said in complaints)


async def test_nobody_comes_in_without_a_key_of_the_list(engines: Engines) -> None:
    stranger = keyring.nats_seed(b"\7" * 32, "writer")
    for options in ({}, {"user": "writer", "password": "FIXTURE"}, {"nkeys_seed_str": stranger}):
        with pytest.raises(Error, match=r"(?i)authorization"):
            await nats.connect(
                engines.nats_url,
                allow_reconnect=False,
                error_cb=_ignore,
                **options,
            )


async def _ignore(_error: Exception) -> None:
    """nats-py would print it."""


async def test_a_request_is_answered_by_who_may_and_heard_by_who_asked(connect: Connect) -> None:
    clock, _ = await connect("clock")
    writer, _ = await connect("writer")

    async def answer(message: object) -> None:
        await message.respond(b"noon")  # type: ignore[attr-defined]

    await clock.subscribe("ask.clock", cb=answer)
    await clock.flush()
    assert (await writer.request("ask.clock", b"", timeout=5)).data == b"noon"


@pytest.mark.parametrize(
    ("user", "subject"),
    [
        ("writer", "other.fact"),
        ("writer", "$JS.API.STREAM.CREATE.MINE"),
        ("writer", "$JS.API.STREAM.DELETE.FACTS"),
        ("writer", "$JS.API.STREAM.PURGE.FACTS"),
        ("writer", "_INBOX_bootstrap.x"),
        ("clock", "facts.one"),
        ("clock", "_INBOX_writer.x"),
        ("mute", "facts.one"),
        ("bootstrap", "facts.one"),
        ("bootstrap", "$JS.API.STREAM.DELETE.FACTS"),
    ],
)
async def test_what_is_not_on_the_list_cannot_be_said(
    connect: Connect, user: str, subject: str
) -> None:
    client, complaints = await connect(user)
    await client.publish(subject, b"FIXTURE")
    await client.flush()
    await refused(complaints, subject)


@pytest.mark.parametrize(
    ("user", "subject"),
    [("writer", "facts.>"), ("writer", "_INBOX_clock.>"), ("mute", "facts.one"), ("writer", ">")],
)
async def test_what_is_not_on_the_list_cannot_be_heard(
    connect: Connect, user: str, subject: str
) -> None:
    client, complaints = await connect(user)
    await client.subscribe(subject)
    await client.flush()
    await refused(complaints, subject)


async def test_an_acknowledged_fact_outlives_a_kill(engines: Engines, connect: Connect) -> None:
    maker, _ = await connect("bootstrap")
    await maker.jetstream().add_stream(
        StreamConfig("FACTS", subjects=["facts.>"], deny_delete=True, deny_purge=True)
    )
    writer, _ = await connect("writer")
    stream = writer.jetstream(timeout=1)
    acknowledged = 0
    restarts = engines.nats.restarts

    async def say(n: int) -> None:
        async with asyncio.timeout(30):
            while True:
                try:
                    await stream.publish("facts.n", b"", headers={"Nats-Msg-Id": str(n)})
                    return
                except (Error, NoRespondersError, TimeoutError):
                    await asyncio.sleep(0.05)

    for n in range(200):
        if n == 100:
            os.kill(engines.nats.pid, signal.SIGKILL)
        await say(n)
        acknowledged += 1
    await until(lambda: engines.nats.restarts == restarts + 1)
    found = await stream.stream_info("FACTS")
    assert found.state.messages == acknowledged == 200


async def test_statistics_are_on_loopback(engines: Engines) -> None:
    async with httpx.AsyncClient() as http:
        health = await http.get(f"{engines.nats_monitor_url}/healthz")
    assert engines.nats_monitor_url.startswith("http://127.0.0.1:")
    assert health.json() == {"status": "ok"}
