"""The database when its file is gone, and when a caller leaves in the middle of a shared commit."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from core_fixture import METADATA, ROW, Held, add, until, url
from sqlalchemy import Connection, select
from styx_core.db import GROUP, Database
from styx_core.errors import Unavailable
from styx_core.testing import tables

Ask = Callable[[Database], Awaitable[Any]]


def numbers(c: Connection) -> list[int]:
    """The rows that are there."""
    return list(c.execute(select(ROW.c.id).order_by(ROW.c.id)).scalars())


@pytest.mark.parametrize(
    "ask", [lambda db: db.read(numbers), lambda db: db.glance(numbers)], ids=["read", "glance"]
)
async def test_a_file_that_is_gone_is_said_until_it_is_back(tmp_path: Path, ask: Ask) -> None:
    place, away = tmp_path / "here", tmp_path / "away"
    place.mkdir()
    db = Database(tables(url(place), METADATA), lambda: None)
    await db.write(add(1))
    place.rename(away)
    for _ in range(2):
        with pytest.raises(Unavailable, match=r"unable to open database file.*try again"):
            await ask(db)
    away.rename(place)
    assert await ask(db) == [1]
    await db.close()


async def test_a_caller_that_leaves_in_its_turn_spoils_no_others_commit(tmp_path: Path) -> None:
    db = Database(tables(url(tmp_path), METADATA), lambda: None)
    first, inside = Held(), Held(add(2))
    tasks = [asyncio.create_task(db.write(first))]
    await until(first.reached.is_set)
    tasks += [asyncio.create_task(db.write(fn)) for fn in (add(1), inside, add(3))]
    await asyncio.sleep(0)
    first.let_go.set()
    await until(inside.reached.is_set)
    tasks[2].cancel()
    await asyncio.sleep(0)
    inside.let_go.set()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(each) for each in done[1:]] == [int, asyncio.CancelledError, int]
    assert await db.read(numbers) == [1, 2, 3], "it had begun, so it is done"
    await db.close()


async def test_closing_finishes_more_than_one_commits_worth(tmp_path: Path) -> None:
    db = Database(tables(url(tmp_path), METADATA), lambda: None)
    first = Held()
    tasks = [asyncio.create_task(db.write(fn)) for fn in (first, *map(add, range(2 * GROUP)))]
    await until(first.reached.is_set)
    closing = asyncio.create_task(db.close())
    await asyncio.sleep(0)
    first.let_go.set()
    await closing
    assert await asyncio.gather(*tasks) == [None, *range(2 * GROUP)]
    again = Database(tables(url(tmp_path), METADATA), lambda: None)
    assert await again.read(numbers) == list(range(2 * GROUP))
    await again.close()
