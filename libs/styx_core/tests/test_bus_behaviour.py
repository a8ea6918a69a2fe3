"""How a bus behaves: one suite, held on `MemoryBus` here and on a real nats-server beside it.

Whoever imports `BusBehaviour` gives it a `connect` fixture: a service's name to its connection,
on a bus whose unacknowledged events come again after about a second.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import pytest_asyncio
from styx_core.bus import Bus
from styx_core.contract.base import Done
from styx_core.contract.broker import IdentifyTask, TaskEnded, TaskIdentity
from styx_core.contract.grants import AdmitTask, CheckGrant, ReportUse
from styx_core.contract.grants_events import GrantDecided, GrantEnded
from styx_core.errors import (
    Forbidden,
    Internal,
    Invalid,
    StyxError,
    TimedOut,
    Unauthenticated,
    Unavailable,
)
from styx_core.ids import new_id
from styx_core.testing import MemoryBus

Connect = Callable[[str], Awaitable[Bus]]

WHO = TaskIdentity(task_id="tsk", project_id="prj", agent="a", person="p")
ASK = IdentifyTask(token_sha256="0" * 64)
DECIDED, ENDED = GrantDecided.subject, GrantEnded.subject


async def known(_command: IdentifyTask) -> TaskIdentity:
    return WHO


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def bodies(bus: Bus, most: int = 100, seconds: float = 5) -> list[bytes]:
    """Read events and acknowledge them."""
    events = await bus.fetch("audit", most, seconds)
    for event in events:
        await event.ack()
    return [event.body for event in events]


async def drained(bus: Bus) -> None:
    """Read what earlier tests left in the stream."""
    while await bodies(bus, seconds=0.2):
        pass


class BusBehaviour:
    async def test_what_no_message_can_hold_is_refused_and_nothing_asked(
        self, connect: Connect
    ) -> None:
        broker = await connect("broker")
        huge = AdmitTask.model_construct(task_id="x" * 1_000_001)
        with pytest.raises(Invalid, match="too large"):
            await broker.request(huge)
        assert broker.connected()

    async def test_a_command_is_answered_by_its_owner(self, connect: Connect) -> None:
        await (await connect("broker")).serve("broker", {IdentifyTask: known})
        assert await (await connect("mcp-gateway")).request(ASK) == WHO

    async def test_commands_run_side_by_side(self, connect: Connect) -> None:
        together = asyncio.Barrier(8)

        async def meet(_command: IdentifyTask) -> TaskIdentity:
            await together.wait()
            return WHO

        await (await connect("broker")).serve("broker", {IdentifyTask: meet})
        gateway = await connect("mcp-gateway")
        answers = await asyncio.gather(*(gateway.request(ASK) for _ in range(8)))
        assert answers == [WHO] * 8

    async def test_replicas_share_the_work_and_each_command_is_done_once(
        self, connect: Connect
    ) -> None:
        done: list[int] = []

        for replica in (1, 2):

            async def count(_command: IdentifyTask, replica: int = replica) -> TaskIdentity:
                done.append(replica)
                return WHO

            await (await connect("broker")).serve("broker", {IdentifyTask: count})
        gateway = await connect("mcp-gateway")
        for _ in range(40):
            await gateway.request(ASK)
        assert len(done) == 40
        assert set(done) == {1, 2}

    async def test_an_owner_that_is_away_is_said_at_once(self, connect: Connect) -> None:
        gateway = await connect("mcp-gateway")
        with pytest.raises(Unavailable, match="broker is not running; nothing was done"):
            await gateway.request(ASK, 30)

    async def test_an_owners_error_comes_as_itself(self, connect: Connect) -> None:
        async def refuse(_command: IdentifyTask) -> TaskIdentity:
            raise Unauthenticated("the task has ended")

        await (await connect("broker")).serve("broker", {IdentifyTask: refuse})
        gateway = await connect("mcp-gateway")
        with pytest.raises(Unauthenticated, match="the task has ended"):
            await gateway.request(ASK)

    async def test_an_owners_fault_tells_nothing_of_its_inside(self, connect: Connect) -> None:
        async def fail(_command: IdentifyTask) -> TaskIdentity:
            raise RuntimeError("FIXTURE-inside")

        await (await connect("broker")).serve("broker", {IdentifyTask: fail})
        gateway = await connect("mcp-gateway")
        with pytest.raises(Internal) as failed:
            await gateway.request(ASK)
        assert failed.value.detail == "broker failed at identify_task; its log says why"

    async def test_a_deadline_ends_the_wait(self, connect: Connect) -> None:
        async def never(_command: IdentifyTask) -> TaskIdentity:
            await asyncio.Event().wait()
            return WHO

        await (await connect("broker")).serve("broker", {IdentifyTask: never})
        gateway = await connect("mcp-gateway")
        with pytest.raises(TimedOut):
            await gateway.request(ASK, 0.05)

    @pytest.mark.parametrize("service", ["audit", "adapters", "grants", "broker"])
    async def test_only_who_the_contract_names_may_ask(
        self, connect: Connect, service: str
    ) -> None:
        bus = await connect(service)
        with pytest.raises(Forbidden, match=f"{service} may not send {ASK.subject}"):
            await bus.request(ASK)

    async def test_nobody_answers_for_another(self, connect: Connect) -> None:
        async def lie(_command: CheckGrant) -> Done:
            return Done()

        bus = await connect("mcp-gateway")
        with pytest.raises(Forbidden, match="mcp-gateway may not hear"):
            await bus.serve("mcp-gateway", {CheckGrant: lie, ReportUse: lie})

    async def test_an_event_is_read_until_it_is_acknowledged(self, connect: Connect) -> None:
        grants, audit = await connect("grants"), await connect("audit")
        await drained(audit)
        await grants.publish(DECIDED, new_id("evt"), b"one", "00-aa-bb-01")
        (first,) = await audit.fetch("audit", 10, 5)
        assert (first.subject, first.body, first.trace) == (DECIDED, b"one", "00-aa-bb-01")
        (again,) = await audit.fetch("audit", 10, 5)
        assert (again.seq, again.body) == (first.seq, b"one")
        await again.ack()
        assert await bodies(audit, seconds=1.5) == []

    async def test_a_reader_that_comes_back_goes_on_where_it_was(self, connect: Connect) -> None:
        grants, audit = await connect("grants"), await connect("audit")
        await drained(audit)
        for body in (b"1", b"2", b"3"):
            await grants.publish(DECIDED, new_id("evt"), body)
        (one,) = await audit.fetch("audit", 1, 5)
        await one.ack()
        await audit.close()
        assert await bodies(await connect("audit")) == [b"2", b"3"]

    async def test_an_event_said_twice_is_stored_once(self, connect: Connect) -> None:
        grants, audit = await connect("grants"), await connect("audit")
        await drained(audit)
        event_id = new_id("evt")
        for _ in range(3):
            await grants.publish(ENDED, event_id, b"once")
        assert await bodies(audit) == [b"once"]

    async def test_an_event_wakes_who_listens(self, connect: Connect) -> None:
        heard: list[tuple[str, bytes]] = []
        gateway, grants = await connect("mcp-gateway"), await connect("grants")
        await gateway.listen(DECIDED, lambda subject, body: heard.append((subject, body)))
        await gateway.catalog_get("a-round-trip-after-which-the-server-knows-who-listens")
        await grants.publish(ENDED, new_id("evt"), b"not this")
        await grants.publish(DECIDED, new_id("evt"), b"this")
        await until(lambda: bool(heard))
        assert heard == [(DECIDED, b"this")]

    @pytest.mark.parametrize("service", ["broker", "audit", "adapters", "mcp-gateway"])
    async def test_a_forged_event_is_refused(self, connect: Connect, service: str) -> None:
        audit = await connect("audit")
        await drained(audit)
        bus = await connect(service)
        with pytest.raises(Forbidden, match=f"{service} may not send {DECIDED}"):
            await bus.publish(DECIDED, new_id("evt"), b"FIXTURE-forged")
        assert await bodies(audit, seconds=0.2) == []

    async def test_each_hears_only_what_it_may(self, connect: Connect) -> None:
        adapters, grants = await connect("adapters"), await connect("grants")
        with pytest.raises(Forbidden, match="adapters may not hear"):
            await adapters.listen(TaskEnded.subject, lambda *_: None)
        with pytest.raises(Forbidden, match="grants may not send"):
            await grants.fetch("audit", 1, 1)

    async def test_the_catalog_is_written_by_one_and_read_by_all(self, connect: Connect) -> None:
        adapters = await connect("adapters")
        await adapters.catalog_put("tool.acme", b"old")
        await adapters.catalog_put("tool.acme", b"new")
        for service in ("adapters", "broker", "grants", "mcp-gateway", "audit"):
            bus = await connect(service)
            assert await bus.catalog_get("tool.acme") == b"new"
            assert await bus.catalog_get("tool.nobody") is None
            if service != "adapters":
                with pytest.raises(Forbidden, match=f"{service} may not send"):
                    await bus.catalog_put("tool.acme", b"FIXTURE-forged")
        assert await adapters.catalog_get("tool.acme") == b"new"

    async def test_what_is_closed_is_away(self, connect: Connect) -> None:
        broker, gateway = await connect("broker"), await connect("mcp-gateway")
        await broker.serve("broker", {IdentifyTask: known})
        assert broker.connected()
        await broker.close()
        assert not broker.connected()
        with pytest.raises(StyxError) as gone:
            await broker.publish(TaskEnded.subject, new_id("evt"), b"")
        assert gone.value.retryable
        with pytest.raises(Unavailable, match="broker is not running"):
            await gateway.request(ASK)


class TestMemoryBus(BusBehaviour):
    @pytest_asyncio.fixture
    async def connect(self) -> AsyncIterator[Connect]:
        server, opened = MemoryBus(ack_seconds=0.5), []

        async def as_service(name: str) -> Bus:
            opened.append(server.as_service(name))
            return opened[-1]

        yield as_service
        for bus in opened:
            await bus.close()

    async def test_a_bus_that_is_away_says_so_to_everyone(self) -> None:
        server = MemoryBus()
        gateway, adapters = server.as_service("mcp-gateway"), server.as_service("adapters")
        server.away = True
        assert not gateway.connected()
        with pytest.raises(Unavailable, match="the bus is away"):
            await gateway.request(ASK)
        with pytest.raises(Unavailable, match="the bus is away"):
            await adapters.catalog_put("index", b"")
