"""Every event becomes an entry once, in order, and is acknowledged only when it is committed."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from log_fixture import fill, full_disk, made, opened, say
from sqlalchemy.exc import IntegrityError
from styx_audit import repository as repo
from styx_audit.entries import decode
from styx_audit.recorder import Recorder, entry_of
from styx_core.contract.base import EVENTS, Event
from styx_core.db import Database
from styx_core.errors import Unavailable
from styx_core.testing import MemoryBus


def recorder(server: MemoryBus, db: Database) -> Recorder:
    return Recorder(server.as_service("audit"), db)


async def ids(db: Database) -> list[str]:
    bodies = await db.read(lambda c: [decode(b) for b in repo.bodies(c, repo.size(c))])
    return [body["id"] for body in bodies if isinstance(body, dict)]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


def named(*numbers: int) -> list[str]:
    return [made(n).id for n in numbers]


async def test_events_become_entries_in_the_order_of_the_stream(
    server: MemoryBus, db: Database
) -> None:
    await say(server, *(made(n) for n in (2, 0, 1, 4, 3)))
    assert await recorder(server, db).once() == 5
    assert await ids(db) == named(2, 0, 1, 4, 3)
    assert server.durables["audit"].acked == {1, 2, 3, 4, 5}
    bodies = await db.read(lambda c: list(repo.bodies(c, 1)))
    expected = made(2).model_dump(mode="json") | {"kind": "grants.use_reported"}
    assert json.loads(bodies[0]) == expected


async def test_an_event_delivered_again_is_recorded_once(db: Database) -> None:
    server = MemoryBus(ack_seconds=0.0)
    await say(server, made(0), made(1))
    view = server.as_service("audit")
    held = await view.fetch("audit", 10, 1)
    one = Recorder(view, db)
    assert await one.record(held) == 2
    assert await one.once() == 0  # the same two came again, since nobody had acknowledged them
    await say(server, made(2))
    assert await one.once() == 1
    assert await ids(db) == named(0, 1, 2)


async def test_a_restart_between_commit_and_acknowledgement_doubles_nothing(
    path: Path, db: Database
) -> None:
    server = MemoryBus(ack_seconds=0.0)
    await say(server, made(0), made(1))
    await recorder(server, db).record(await server.as_service("audit").fetch("audit", 10, 1))
    again = opened(path)  # that process died here, before it could acknowledge
    await say(server, made(2))
    assert await recorder(server, again).once() == 1
    assert await ids(again) == named(0, 1, 2)
    assert server.durables["audit"].acked == {1, 2, 3}
    await again.close()


async def test_nothing_is_acknowledged_that_was_not_committed(
    server: MemoryBus, db: Database, path: Path
) -> None:
    long = [made(n).model_copy(update={"command": ("x" * 9000,)}) for n in range(3)]
    await say(server, *long)
    one = recorder(server, db)
    with full_disk(path):
        await fill(db)
        for _ in range(3):
            with pytest.raises(Unavailable, match="full"):
                await one.once()
        assert server.durables["audit"].acked == set()
        assert await ids(db) == []
    assert await one.once() == 3
    assert await ids(db) == named(0, 1, 2)
    assert server.durables["audit"].acked == {1, 2, 3}


async def test_while_the_disk_is_full_the_service_is_not_ready_and_then_is_again(
    server: MemoryBus, db: Database, path: Path
) -> None:
    one = recorder(server, db)
    with full_disk(path):
        await fill(db)
        await say(server, made(0).model_copy(update={"command": ("x" * 9000,)}))
        one.start()
        await until(lambda: not one.recording)
    await until(lambda: one.recording and bool(server.durables["audit"].acked))
    assert await ids(db) == named(0)
    await one.stop()


async def test_the_stream_may_go_and_come(server: MemoryBus, db: Database) -> None:
    server.away = True
    one = recorder(server, db)
    one.start()
    await until(lambda: not one.recording)
    server.away = False
    await say(server, made(0))
    await until(lambda: server.durables["audit"].acked == {1})
    assert one.recording
    await one.stop()


async def test_another_replica_that_was_faster_is_believed(
    server: MemoryBus, db: Database, path: Path
) -> None:
    mine, theirs = recorder(server, db), recorder(server, db)
    await say(server, made(0))
    await mine.once()
    await say(server, made(1))
    await theirs.once()
    await say(server, made(2))
    with pytest.raises(IntegrityError):
        await mine.once()  # its head was of one entry
    assert await mine.once() == 1
    assert await ids(db) == named(0, 1, 2)


async def test_what_a_replica_loses_to_another_it_tries_anew_by_itself(
    server: MemoryBus, db: Database
) -> None:
    mine, theirs = recorder(server, db), recorder(server, db)
    await say(server, made(0))
    await mine.once()
    await say(server, made(1))
    await theirs.once()
    await say(server, made(2))
    mine.start()
    await until(lambda: len(server.durables["audit"].acked) == 3)
    assert mine.recording
    await mine.stop()
    assert await ids(db) == named(0, 1, 2)


async def test_a_log_whose_nodes_are_gone_stops_the_recorder_for_all_to_see(
    server: MemoryBus, db: Database, path: Path
) -> None:
    from log_fixture import forge

    await say(server, made(0))
    await recorder(server, db).once()
    forge(path, "DELETE FROM node")
    await say(server, made(1))
    one = recorder(server, db)
    one.start()
    await until(lambda: not one.recording)
    assert server.durables["audit"].acked == {1}
    with pytest.raises(KeyError):
        await one.once()
    await one.stop()


EVENT = made(0)
SUBJECT = type(EVENT).subject
FORGED: list[tuple[str, bytes]] = [
    ("styx.v1.evt.grants.no_such_event", EVENT.model_dump_json().encode()),
    ("styx.v1.evt.grants.grant_decided", EVENT.model_dump_json().encode()),
    (SUBJECT, b""),
    (SUBJECT, b"\xff\x00 FIXTURE-secret"),
    (SUBJECT, b"[]"),
    (SUBJECT, EVENT.model_dump_json().encode()[:-1]),
    (SUBJECT, json.dumps(EVENT.model_dump(mode="json") | {"more": 1}).encode()),
    (SUBJECT, json.dumps(EVENT.model_dump(mode="json") | {"name": "\ud800"}).encode()),
    (SUBJECT, json.dumps(EVENT.model_dump(mode="json") | {"at": "2026-01-05T12:00"}).encode()),
    (SUBJECT, b"[" * 100_000),
]


@pytest.mark.parametrize(("subject", "body"), FORGED)
def test_what_is_no_event_is_refused_and_kept_by_its_hash(subject: str, body: bytes) -> None:
    digest = hashlib.sha256(body).hexdigest()
    assert entry_of(subject, body) == {
        "id": f"refused-{digest}",
        "at": "",
        "kind": "audit.refused",
        "actor": subject,
        "sha256": digest,
        "bytes": len(body),
    }


@pytest.mark.parametrize("kind", EVENTS.values(), ids=lambda kind: kind.subject)
def test_an_event_is_known_by_its_subject_alone(kind: type[Event]) -> None:
    entry = entry_of(kind.subject, EVENT.model_dump_json().encode())
    expected = "broker.project_created" if kind is type(EVENT) else "audit.refused"
    assert entry["kind"] == expected


async def test_a_refused_one_is_in_the_log_beside_the_others(
    server: MemoryBus, db: Database
) -> None:
    await say(server, made(0))
    await server.as_service("broker").publish(SUBJECT, "evt_forged", b"FIXTURE-secret")
    await say(server, made(1))
    assert await recorder(server, db).once() == 3
    recorded = await ids(db)
    assert [recorded[0], recorded[2]] == named(0, 1)
    assert recorded[1].startswith("refused-")
    assert "FIXTURE" not in str(await db.read(lambda c: list(repo.bodies(c, 3))))
    assert server.durables["audit"].acked == {1, 2, 3}
