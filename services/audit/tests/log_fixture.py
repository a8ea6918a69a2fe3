"""A log to test with: a database file, a stream in memory, and a Vault that holds one key."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine, event, text
from styx_audit.models import SCHEMA
from styx_core.contract.base import Event
from styx_core.contract.broker import ProjectCreated, TaskEnded
from styx_core.contract.grants_events import UseReported
from styx_core.db import Database
from styx_core.testing import MemoryBus, migrated
from styx_core.vault import VaultSealed

START = datetime(2026, 1, 5, 12, tzinfo=UTC)


@dataclass
class KeyVault:
    """Vault's transit engine with one Ed25519 key, which a test may rotate; `sealed` closes it."""

    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    sealed: bool = False
    signed: int = 0

    async def transit_public_key(self, _name: str) -> bytes:
        """The public half."""
        self._check()
        return self.key.public_key().public_bytes_raw()

    async def transit_sign(self, _name: str, data: bytes) -> bytes:
        """A signature."""
        self._check()
        self.signed += 1
        return self.key.sign(data)

    def rotate(self) -> None:
        """Another key under the same name."""
        self.key = Ed25519PrivateKey.generate()

    def _check(self) -> None:
        if self.sealed:
            raise VaultSealed("Vault is sealed: sign")


def opened(path: Path) -> Database:
    """The audit database in this file."""
    return Database(migrated(SCHEMA, f"sqlite:///{path}"), lambda: None)


def made(number: int) -> Event:
    """The event with this number; three kinds take turns."""
    about: dict[str, Any] = {
        "id": f"evt_{number:026d}",
        "at": START + timedelta(seconds=number),
        "actor": f"person-{number % 3}",
        "project_id": f"prj_{number % 2}",
        "task_id": f"tsk_{number % 4}",
        "grant_id": f"gnt_{number % 5}",
        "target": ("prod", "staging")[number % 2],
    }
    if number % 3 == 0:
        return ProjectCreated(**about, name=f"shop {number}")
    if number % 3 == 1:
        return TaskEnded(**about, why=f"100% done with {number}_x")
    return UseReported(**about, exec_id=f"exe_{number}", exit_code=number)


async def say(server: MemoryBus, *events: Event) -> None:
    """Publish events, each as the service whose event it is."""
    for each in events:
        bus = server.as_service(type(each).owner)
        await bus.publish(type(each).subject, each.id, each.model_dump_json().encode())


@contextmanager
def full_disk(path: Path) -> Iterator[None]:
    """No connection made to this database meanwhile can take another page of it."""

    def limit(connection: Any, _record: Any) -> None:
        if str(path) in str(connection.execute("PRAGMA database_list").fetchall()):
            connection.execute("PRAGMA max_page_count=1")

    event.listen(Engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(Engine, "connect", limit)


async def fill(db: Database) -> None:
    """Let the writer's connection of now take no other page."""
    await db.write(lambda c: c.execute(text("PRAGMA max_page_count=1")).all())


def forge(path: Path, *statements: str) -> None:
    """Change the log behind its own back: as one who owns the file can."""
    with sqlite3.connect(path) as c:
        names = c.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in names:
            c.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            c.execute(statement)
    c.close()
