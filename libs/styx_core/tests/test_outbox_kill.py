"""A process that is killed leaves its committed events to the next one: a real process, SIGKILL."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import MetaData
from styx_core.contract.broker import TaskEnded
from styx_core.db import Database
from styx_core.outbox import Outbox, outbox_table
from styx_core.testing import MemoryBus, tables

DOOMED = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from sqlalchemy import MetaData
from styx_core.contract.broker import TaskEnded
from styx_core.db import Database
from styx_core.ids import new_id
from styx_core.outbox import Outbox, outbox_table
from styx_core.testing import tables

class Bus:
    async def publish(self, subject, event_id, body, trace=""):
        print("sent", event_id, flush=True)
        await asyncio.Event().wait()

async def main(path, relays):
    metadata = MetaData()
    outbox = Outbox(outbox_table(metadata))
    db = Database(tables(f"sqlite:///{path}", metadata), outbox.wake)
    def event(why):
        return TaskEnded(id=new_id("evt"), at=datetime.now(UTC), actor="FIXTURE", why=why)
    for why in ("one", "two", "three"):
        done = event(why)
        await db.write(lambda c: outbox.record(c, done))
        print("committed", done.id, flush=True)
    if relays == "relays":
        outbox.start(db, Bus())
        await asyncio.Event().wait()
    def never(c):
        print("recorded", outbox.record(c, event("never committed")), flush=True)
        sys.stdin.read()
    await db.write(never)

asyncio.run(main(*sys.argv[1:]))
"""


def killed(path: Path, how: str, last: str) -> list[tuple[str, str]]:
    """Run the doomed process until it says `last`, kill it; what it said, as (word, event id)."""
    argv = [sys.executable, "-c", DOOMED, str(path), how]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said: list[tuple[str, str]] = []
    try:
        assert child.stdout is not None
        while not said or said[-1][0] != last:
            word, event_id = child.stdout.readline().split()
            said.append((word, event_id))
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert child.returncode == -signal.SIGKILL
    return said


@pytest.mark.parametrize(
    ("how", "last", "reached"),
    [
        pytest.param("stays", "recorded", False, id="inside the next transaction"),
        pytest.param("relays", "sent", False, id="before the stream took it"),
        pytest.param("relays", "sent", True, id="after the stream took it, before its row went"),
    ],
)
async def test_exactly_what_was_committed_is_relayed_by_the_next_process(
    tmp_path: Path, how: str, last: str, reached: bool
) -> None:
    path, server, metadata = tmp_path / "db.sqlite", MemoryBus(), MetaData()
    said = await asyncio.to_thread(killed, path, how, last)
    committed = [event_id for word, event_id in said if word == "committed"]
    bus = server.as_service("broker")
    if reached:
        await bus.publish(TaskEnded.subject, committed[0], b'{"why": "one"}')
    outbox = Outbox(outbox_table(metadata))
    db = Database(tables(f"sqlite:///{path}", metadata), outbox.wake)
    outbox.start(db, bus)
    async with asyncio.timeout(20):
        for event_id in committed:
            await outbox.durable(db, event_id, 20)
    await outbox.stop()
    await db.close()
    assert [event.event_id for event in server.stream] == committed
    whys = [json.loads(event.body)["why"] for event in server.stream]
    assert whys == ["one", "two", "three"]
