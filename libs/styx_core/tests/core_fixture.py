"""A table and an outbox to test with, and what waits on conditions."""

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Integer, MetaData, String, Table, insert
from styx_core.contract.broker import TaskStarted
from styx_core.ids import new_id
from styx_core.outbox import outbox_table

METADATA = MetaData()
ROW = Table("row", METADATA, Column("id", Integer, primary_key=True), Column("text", String))
OUTBOX = outbox_table(METADATA)


def url(folder: Path) -> str:
    """Where a test's database is."""
    return f"sqlite:///{folder / 'core.db'}"


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, or fail."""
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.002)


def started(number: int) -> TaskStarted:
    """An event of `broker`'s, told apart by its number."""
    now = datetime.now(UTC)
    return TaskStarted(id=new_id("evt"), at=now, actor="a", agent="a", person="p", name=f"{number}")


def add(number: int, text: str = "") -> Callable[[Connection], int]:
    """A transaction that adds a row."""

    def run(c: Connection) -> int:
        c.execute(insert(ROW), {"id": number, "text": text})
        return number

    return run


class Held:
    """A transaction that stands still in the writer's thread until it is let go."""

    def __init__(self, then: Callable[[Connection], Any] = lambda _c: None) -> None:
        self.reached, self.let_go, self._then = threading.Event(), threading.Event(), then

    def __call__(self, c: Connection) -> Any:
        value = self._then(c)
        self.reached.set()
        assert self.let_go.wait(30)
        return value
