"""Entries are added once, in order, with their nodes, and found again by anything in them."""

from typing import Any

import pytest
from log_fixture import made
from styx_audit import repository as repo
from styx_audit.entries import canonical, decode, leaf_hash
from styx_audit.merkle import Frontier
from styx_core.db import Database
from styx_core.errors import Invalid

SIZE = 13


def entries(*numbers: int) -> list[dict[str, Any]]:
    events = (made(n) for n in numbers)
    return [
        e.model_dump(mode="json") | {"kind": type(e).subject.removeprefix("styx.v1.evt.")}
        for e in events
    ]


async def grown(db: Database, *numbers: int) -> tuple[Frontier, int]:
    rows = entries(*numbers)
    return await db.write(lambda c: repo.append(c, repo.head(c), rows))


async def found(db: Database, text: str | None = None, **where: Any) -> list[int]:
    before, limit = where.pop("before", None), where.pop("limit", 100)
    rows = await db.read(lambda c: repo.search(c, where, text, before, limit))
    return [row["seq"] for row in rows]


async def test_the_stored_nodes_are_those_of_the_tree(db: Database) -> None:
    plain = Frontier()
    for number in range(SIZE):
        head, new = await grown(db, number)
        plain = plain.append(leaf_hash(entries(number)[0]))
        assert (head, new) == (plain, 1)
        assert await db.read(repo.head) == plain
        assert await db.read(repo.size) == number + 1


async def test_what_is_known_is_not_added_again(db: Database) -> None:
    await grown(db, 0, 1, 2)
    head, new = await grown(db, 1, 3, 3, 2, 4)
    assert (head.size, new) == (5, 2)
    bodies = await db.read(lambda c: list(repo.bodies(c, 5)))
    assert bodies == [canonical(e).decode() for e in entries(0, 1, 2, 3, 4)]
    assert (await grown(db, 0, 4))[1] == 0


async def test_a_node_that_is_not_there_is_named(db: Database) -> None:
    await grown(db, 0)
    with pytest.raises(KeyError, match="3, 7"):
        await db.read(lambda c: repo.node(c, 3, 7))


@pytest.mark.parametrize("step", [1, 5, 12, 13, 14])
async def test_bodies_come_whole_in_pieces_of_any_size(db: Database, step: int) -> None:
    await grown(db, *range(SIZE))
    for upto in (0, 1, 12, 13):
        bodies = await db.read(lambda c, upto=upto: list(repo.bodies(c, upto, step)))
        assert bodies == [canonical(e).decode() for e in entries(*range(upto))]


@pytest.mark.parametrize("name", repo.FIELDS)
async def test_every_field_is_searched_by_its_name(db: Database, name: str) -> None:
    await grown(db, *range(SIZE))
    rows = entries(*range(SIZE))
    key = "id" if name == "event_id" else name
    for value in {row[key] for row in rows}:
        expected = [n for n in reversed(range(SIZE)) if rows[n][key] == value]
        assert await found(db, **{name: value}) == expected
    assert await found(db, **{name: "nothing such"}) == []


async def test_fields_and_text_narrow_together(db: Database) -> None:
    await grown(db, *range(SIZE))
    assert await found(db, "shop", target="prod", actor="person-0") == [12, 6, 0]
    assert await found(db, "shop 1", target="prod") == [12]


async def test_text_is_taken_literally(db: Database) -> None:
    await grown(db, *range(SIZE))
    assert await found(db, "100% done with 4_") == [4]
    assert await found(db, "100%with") == []
    assert await found(db, "done_with") == []
    assert await found(db, "' OR 1=1 --") == []


async def test_before_and_limit_page_from_the_newest(db: Database) -> None:
    await grown(db, *range(SIZE))
    pages, before = [], None
    while page := await found(db, before=before, limit=5):
        pages.append(page)
        before = page[-1]
    assert pages == [[12, 11, 10, 9, 8], [7, 6, 5, 4, 3], [2, 1, 0]]


@pytest.mark.parametrize("name", ["seq", "body", "sql", "scopes", ""])
async def test_an_unknown_field_is_named(db: Database, name: str) -> None:
    with pytest.raises(Invalid, match=f"^{name}: search by at, kind, .*, or by text$"):
        await found(db, **{name: "x"})


async def test_the_first_checkpoint_of_a_size_stays(db: Database) -> None:
    for size, note in ((2, "two"), (5, "five"), (5, "five again"), (3, "three")):
        await db.write(lambda c, size=size, note=note: repo.save_checkpoint(c, size, note))
    newest = await db.read(repo.checkpoint)
    assert newest is not None
    assert (newest.size, newest.note) == (5, "five")


async def test_one_entry_is_what_was_recorded(db: Database) -> None:
    await grown(db, 0, 1)
    row = await db.read(lambda c: repo.entry(c, 1))
    assert row is not None
    assert decode(row.body) == decode(canonical(entries(1)[0]).decode())
    assert await db.read(lambda c: repo.entry(c, 2)) is None
