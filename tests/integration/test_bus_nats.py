"""The bus's behaviour suite on a real nats-server, each service as its own user of the contract.

And what only a server can show: it refuses a forged event by itself, what the bootstrap makes is
the same however often it runs, and acknowledged events outlive a kill.
"""

import asyncio
import importlib.util
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from styx_cli.engines.run import Engines, prepare, running_engines
from styx_cli.stack import nats_users
from styx_core import keyring
from styx_core.bus import Bus, NatsBus
from styx_core.bus_admin import consumer, prepare_stream
from styx_core.contract.grants_events import GrantDecided
from styx_core.contract.rights import DURABLES, STREAM
from styx_core.errors import Forbidden, Unavailable
from styx_core.ids import new_id

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]


def _suite() -> Any:
    """The shared suite's module: tests folders are no packages, so it is loaded by its path."""
    path = Path(__file__).parents[2] / "libs/styx_core/tests/test_bus_behaviour.py"
    spec = importlib.util.spec_from_file_location("bus_behaviour", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BEHAVIOUR = _suite()
BEHAVIOUR.BusBehaviour.__test__ = False
DECIDED = GrantDecided.subject

Connect = Callable[[str], Awaitable[Bus]]


async def as_bootstrap(engines: Engines) -> Client:
    return await nats.connect(
        engines.nats_url,
        nkeys_seed_str=keyring.nats_seed(engines.root, "bootstrap"),
        inbox_prefix=b"_INBOX_bootstrap",
    )


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data, nats_users(prepare(data))) as started:
        for _ in range(2):
            await prepare_stream(started.nats_url, keyring.nats_seed(started.root, "bootstrap"))
        client = await as_bootstrap(started)
        quick = consumer("audit", DURABLES["audit"], ack_seconds=1.0)
        await client.jetstream().add_consumer(STREAM, quick)
        await client.close()
        yield started


@pytest_asyncio.fixture(loop_scope="module")
async def connect(engines: Engines) -> AsyncIterator[Connect]:
    opened: list[NatsBus] = []

    async def as_service(name: str) -> Bus:
        seed = keyring.nats_seed(engines.root, name)
        opened.append(await NatsBus.connect(engines.nats_url, name, seed))
        return opened[-1]

    yield as_service
    await asyncio.gather(*(bus.close() for bus in opened))


class TestNatsBus(BEHAVIOUR.BusBehaviour):  # type: ignore[misc, name-defined]
    __test__ = True


async def stored(engines: Engines) -> int:
    client = await as_bootstrap(engines)
    info = await client.jetstream().stream_info(STREAM)
    await client.close()
    return int(info.state.messages)


async def test_the_server_refuses_a_forged_event_whatever_its_client_believes(
    engines: Engines,
) -> None:
    """The broker's key in the hands of code that would speak as grants."""
    before = await stored(engines)
    forger = await NatsBus.connect(
        engines.nats_url, "broker", keyring.nats_seed(engines.root, "broker")
    )
    with pytest.raises(Forbidden, match="broker may not send"):
        await forger.publish(DECIDED, new_id("evt"), b"FIXTURE-forged")
    forger._service = "grants"
    with pytest.raises(Unavailable, match=f"{DECIDED} as grants .* this user may not say it"):
        await forger.publish(DECIDED, new_id("evt"), b"FIXTURE-forged")
    await forger.close()
    assert await stored(engines) == before


async def test_what_the_bootstrap_made_keeps_everything(engines: Engines) -> None:
    client = await as_bootstrap(engines)
    js = client.jetstream()
    stream, audit = await js.stream_info(STREAM), await js.consumer_info(STREAM, "audit")
    await client.close()
    assert stream.config.deny_delete
    assert stream.config.deny_purge
    assert (stream.config.max_age, stream.config.max_msgs, stream.config.max_bytes) == (0, -1, -1)
    assert audit.config.max_ack_pending == 1000


async def test_the_bootstrap_says_why_it_cannot(engines: Engines) -> None:
    with pytest.raises(Unavailable, match="doesn't let the bootstrap user in"):
        await prepare_stream(engines.nats_url, keyring.nats_seed(engines.root, "stranger"))
    with pytest.raises(Unavailable, match="doesn't let the bootstrap user in"):
        await prepare_stream("nats://127.0.0.1:1", keyring.nats_seed(engines.root, "bootstrap"))


async def until_done(attempt: Callable[[], Awaitable[Any]]) -> Any:
    """Try again while the server is away."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await attempt()
            except Unavailable:
                await asyncio.sleep(0.05)


async def test_no_acknowledged_event_is_lost_when_the_server_is_killed(
    engines: Engines, connect: Connect
) -> None:
    grants, audit = await connect("grants"), await connect("audit")
    await BEHAVIOUR.drained(audit)
    said = [b"%d" % n for n in range(100)]
    for body in said:
        if body == b"50":
            os.kill(engines.nats.pid, signal.SIGKILL)
        await until_done(partial(grants.publish, DECIDED, new_id("evt"), body))
    read: list[bytes] = []
    while len(read) < len(said):
        read += await until_done(lambda: BEHAVIOUR.bodies(audit, seconds=1))
    assert read == said
