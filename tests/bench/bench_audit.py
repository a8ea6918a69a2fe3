"""The audit log at work: events of the stream committed to a database file, and an export checked.

Appending is the recorder's own path in its own batches: events from the stream checked, hashed, and
committed with their nodes, flushed to disk. The floor is SHA-256 of the same bytes.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from styx_audit import repository as repo
from styx_audit.checkpoint import Checkpoint, Verifier, signed_note
from styx_audit.export import export
from styx_audit.models import SCHEMA
from styx_audit.recorder import BATCH, Recorder
from styx_audit.verify import verify_export
from styx_core.contract.grants_events import GrantUsed
from styx_core.db import Database
from styx_core.testing import MemoryBus, migrated
from table import Row, print_table

ENTRIES = 100_000
APPEND, VERIFY = 2_000, 50_000


@dataclass
class Arrived:
    """An event as it comes from the stream."""

    subject: str
    body: bytes
    seq: int = 0
    trace: str = ""

    async def ack(self) -> None:
        """Nobody waits for it."""


def _events(count: int) -> Iterator[Arrived]:
    for number in range(count):
        event = GrantUsed(
            id=f"evt_{number:026d}",
            at=datetime(2026, 1, 5, 12, tzinfo=UTC),
            actor="tsk_0123456789abcdefghjkmnpqrs",
            project_id="prj_0123456789abcdefghjkmnpqrs",
            task_id="tsk_0123456789abcdefghjkmnpqrs",
            grant_id="gnt_0123456789abcdefghjkmnpqrs",
            target="prod",
            command=("aws", "s3", "rm", f"s3://bucket/{number}"),
            exec_id=f"exe_{number}",
            lease_id="lse_0123456789abcdefghjkmnpqrs",
        )
        yield Arrived(GrantUsed.subject, event.model_dump_json().encode())


async def _appended(db: Database, entries: int) -> float:
    """Entries a second, recorded and committed."""
    recorder = Recorder(MemoryBus().as_service("audit"), db)
    arrived = list(_events(entries))
    start = perf_counter()
    for at in range(0, entries, BATCH):
        await recorder.record(arrived[at : at + BATCH])
    return entries / (perf_counter() - start)


def _exported(db: Database) -> tuple[list[str], Verifier]:
    """The whole log as an export, signed."""
    signer = Ed25519PrivateKey.generate()
    key = Verifier("bench", signer.public_key().public_bytes_raw())
    with db.reading.connect() as c:
        head = repo.head(c)
        point = Checkpoint("bench", head.size, head.root())
        note = signed_note(point, key, signer.sign(point.text.encode()))
        bodies = repo.bodies(c, head.size)
        known = {(n.level, n.position): bytes(n.hash) for n in c.execute(repo.NODE.select())}
        lines = export(bodies, head.size, note, str(key), lambda level, at: known[level, at])
        return list(lines), key


def _hashed(data: list[bytes]) -> float:
    start = perf_counter()
    for each in data:
        hashlib.sha256(each).digest()
    return len(data) / (perf_counter() - start)


async def _measure(folder: Path, entries: int) -> list[Row]:
    db = Database(migrated(SCHEMA, f"sqlite:///{folder}/audit.db"), lambda: None)
    append = await _appended(db, entries)
    lines, key = _exported(db)
    floor = _hashed([line.encode() for line in lines[1:]])
    start = perf_counter()
    verdict = verify_export(lines, key)
    verify = entries / (perf_counter() - start)
    await db.close()
    name, unit = "SHA-256 of the same bytes", "entries/s"
    fine = verdict.ok and verdict.proven == entries
    return [
        Row(
            f"audit append, committed, by {BATCH}",
            append,
            name,
            floor,
            unit,
            f">= {APPEND:,}",
            append >= APPEND,
        ),
        Row(
            "audit verify of an export",
            verify,
            name,
            floor,
            unit,
            f">= {VERIFY:,}",
            fine and verify >= VERIFY,
        ),
    ]


def measure(entries: int = ENTRIES) -> list[Row]:
    """Entries a second: recorded with their commit, and verified."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_measure(Path(folder), entries))


if __name__ == "__main__":
    print_table(measure())
