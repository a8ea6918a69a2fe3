"""What the contract forbids is refused by nats-server itself, whoever holds a service's own key.

Every service's user tries everything that it may not: others' commands and events, the stream's own
levers, others' inboxes. The list of what it may is the contract's; the refusals are the server's.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import nats
import pytest
import pytest_asyncio
from nats.aio.client import Client
from stack_fixture import until
from styx_cli.engines.run import Engines, prepare, running_engines
from styx_cli.stack import BOOTSTRAP, OPERATOR, nats_users
from styx_core import keyring
from styx_core.bus_admin import prepare_stream
from styx_core.contract.base import COMMANDS, EVENTS
from styx_core.contract.rights import CATALOG, EVENT_SUBJECTS, SERVICES, STREAM, inbox

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

EVERYBODY = (*SERVICES, BOOTSTRAP, OPERATOR)
LEVERS = (
    *(f"$JS.API.STREAM.{verb}.{STREAM}" for verb in ("DELETE", "PURGE", "SNAPSHOT", "RESTORE")),
    f"$JS.API.STREAM.MSG.DELETE.{STREAM}",
    f"$JS.API.CONSUMER.DELETE.{STREAM}.audit",
    f"$JS.API.STREAM.DELETE.KV_{CATALOG}",
    "$SYS.REQ.SERVER.PING",
)
MAKING = (f"$JS.API.STREAM.CREATE.{STREAM}", f"$JS.API.STREAM.UPDATE.{STREAM}")
READING = (
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.DIRECT.GET.{STREAM}",
    f"$JS.API.CONSUMER.CREATE.{STREAM}.mine",
)


@dataclass
class Forger:
    """A user's connection, and what the server said against it."""

    client: Client
    complaints: list[str] = field(default_factory=list)

    async def refused(self, subjects: list[str]) -> None:
        """The server has complained of each of these by name."""

        def left() -> list[str]:
            said = "\n".join(self.complaints)
            return [s for s in subjects if f'"{s.lower()}"' not in said]

        await until(lambda: not left())


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data, nats_users(prepare(data))) as started:
        await prepare_stream(started.nats_url, keyring.nats_seed(started.root, BOOTSTRAP))
        yield started


@pytest_asyncio.fixture(params=EVERYBODY, loop_scope="module")
async def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest_asyncio.fixture(loop_scope="module")
async def forger(engines: Engines, user: str) -> AsyncIterator[Forger]:
    complaints: list[str] = []

    async def complain(error: Exception) -> None:
        complaints.append(str(error).lower())

    client = await nats.connect(
        engines.nats_url,
        nkeys_seed_str=keyring.nats_seed(engines.root, user),
        inbox_prefix=inbox(user).encode(),
        error_cb=complain,
    )
    yield Forger(client, complaints)
    await client.close()


async def stored(engines: Engines) -> int:
    client = await nats.connect(
        engines.nats_url,
        nkeys_seed_str=keyring.nats_seed(engines.root, BOOTSTRAP),
        inbox_prefix=inbox(BOOTSTRAP).encode(),
    )
    info = await client.jetstream().stream_info(STREAM)
    await client.close()
    return int(info.state.messages)


def forbidden(user: str) -> list[str]:
    """All that this user may not say."""
    commands = [c.subject for c in COMMANDS.values() if user not in c.by]
    events = [e.subject for e in EVENTS.values() if e.owner != user]
    inboxes = [f"{inbox(other)}.forged" for other in EVERYBODY if may_not_answer(user, other)]
    making = () if user == BOOTSTRAP else MAKING
    reading = READING[:2] if user == BOOTSTRAP else READING
    catalog = () if user == "adapters" else (f"$KV.{CATALOG}.index",)
    return [*commands, *events, *inboxes, *LEVERS, *making, *reading, *catalog]


def may_not_answer(user: str, other: str) -> bool:
    """Whether `other` never asks `user` anything (its own inbox is its own affair)."""
    return user != other and not any(c.owner == user and other in c.by for c in COMMANDS.values())


async def test_nobody_says_what_the_contract_gives_to_others(
    engines: Engines, forger: Forger, user: str
) -> None:
    before = await stored(engines)
    subjects = forbidden(user)
    assert len(subjects) > 20
    for subject in subjects:
        await forger.client.publish(subject, b'{"id": "evt_FIXTURE"}')
    await forger.client.flush()
    await forger.refused(subjects)
    assert await stored(engines) == before, "nothing of it is in the stream"


async def test_nobody_hears_what_is_for_others(forger: Forger, user: str) -> None:
    commands = [c.subject for c in COMMANDS.values() if c.owner != user]
    inboxes = [f"{inbox(other)}.>" for other in EVERYBODY if other != user]
    everything = [">", "*.>", "styx.>", "$JS.>"]
    decided = [] if user in ("broker", "mcp-gateway") else ["styx.v1.evt.grants.>"]
    subjects = [*commands, *inboxes, *everything, EVENT_SUBJECTS, *decided]
    for subject in subjects:
        await forger.client.subscribe(subject)
    await forger.client.flush()
    await forger.refused(subjects)


@pytest.mark.parametrize("user", ["broker", "adapters", "audit", "mcp-gateway"], indirect=True)
async def test_only_grants_may_ask_for_a_credential(
    engines: Engines, forger: Forger, user: str
) -> None:
    """The one command that mints, heard by its owner only when grants asks."""
    heard: list[str] = []

    async def hear(message: object) -> None:
        heard.append(message.data.decode())  # type: ignore[attr-defined]

    owner = await nats.connect(
        engines.nats_url, nkeys_seed_str=keyring.nats_seed(engines.root, "adapters"),
        inbox_prefix=inbox("adapters").encode(),
    )  # fmt: skip
    asker = await nats.connect(
        engines.nats_url, nkeys_seed_str=keyring.nats_seed(engines.root, "grants"),
        inbox_prefix=inbox("grants").encode(),
    )  # fmt: skip
    issue = next(s for s in COMMANDS if s.endswith(".adapters.issue"))
    await owner.subscribe(issue, cb=hear)
    await owner.flush()
    await forger.client.publish(issue, user.encode())
    await forger.client.flush()
    await forger.refused([issue])
    await asker.publish(issue, b"grants")
    await until(lambda: heard)
    assert heard == ["grants"]
    await asyncio.gather(owner.close(), asker.close())
