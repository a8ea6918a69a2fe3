"""The statements, on a real database: what each finds, changes and refuses."""

from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError
from styx_broker import repository as repo
from styx_broker.models import SCHEMA, Claim, Person, Project, Task
from styx_core.db import Database
from styx_core.errors import Invalid, StyxError, Unauthenticated, UnknownProject, UnknownTask
from styx_core.testing import migrated

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
TASK = {
    "id": "tsk_1",
    "project_id": "prj_1",
    "agent": "agent",
    "person": "owner",
    "name": "",
    "token_sha256": "a" * 64,
    "started_at": NOW,
}
T = TypeVar("T")


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(migrated(SCHEMA, f"sqlite:///{tmp_path / 'broker.db'}"), lambda: None)
    yield opened
    await opened.close()


async def refused(
    db: Database, error: type[StyxError | IntegrityError], fn: Callable[[Connection], T]
) -> str:
    with pytest.raises(error) as told:
        await db.write(fn)
    return str(told.value)


async def test_a_task_lives_until_it_ends(db: Database) -> None:
    await db.write(lambda c: repo.add(c, repo.TASK, **TASK))
    found = await db.read(lambda c: repo.live_task(c, "a" * 64, NOW))
    assert (found.id, found.ended_at) == ("tsk_1", None)
    ended = await db.write(lambda c: repo.end_task(c, "tsk_1", NOW))
    assert ended.project_id == "prj_1"
    for token in ("a" * 64, "b" * 64, ""):
        assert "styx run" in await refused(
            db, Unauthenticated, partial(repo.live_task, token_sha256=token, now=NOW)
        )
    for task_id in ("tsk_1", "tsk_2"):
        await refused(db, UnknownTask, partial(repo.end_task, task_id=task_id, now=NOW))


@pytest.mark.parametrize(
    ("table", "first", "second"),
    [
        (repo.TASK, TASK, {**TASK, "id": "tsk_2"}),
        (repo.PROJECT, {"id": "1", "name": "a"}, {"id": "2", "name": "a"}),
        (
            repo.BEARER,
            {"person": "a", "sha256": "x"},
            {"person": "b", "sha256": "x"},
        ),
    ],
    ids=["a token", "a project's name", "a bearer"],
)
async def test_what_there_may_be_only_once(
    db: Database, table: object, first: dict[str, object], second: dict[str, object]
) -> None:
    await db.write(lambda c: repo.add(c, table, **first))
    await refused(db, IntegrityError, lambda c: repo.add(c, table, **second))


def owner(c: Connection) -> None:
    """The first person, with a terminal."""
    repo.add(c, repo.PERSON, name="owner", joined_at=NOW)
    repo.add(c, repo.BEARER, sha256="b" * 64, person="owner")


async def test_a_person_by_their_bearer(db: Database) -> None:
    assert await db.read(repo.first_person) is None
    assert not await db.read(repo.claimed)
    await db.write(owner)
    assert await db.read(lambda c: repo.person(c, "b" * 64)) == "owner"
    assert await db.read(repo.first_person) == "owner"
    assert await db.read(repo.claimed)
    await refused(db, Unauthenticated, lambda c: repo.person(c, "c" * 64))


async def test_a_hash_that_was_found_is_compared_in_constant_time_too(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await db.write(lambda c: repo.add(c, repo.TASK, **TASK))
    await db.write(owner)
    monkeypatch.setattr(repo, "same", lambda _left, _right: False)
    await refused(db, Unauthenticated, lambda c: repo.live_task(c, "a" * 64, NOW))
    await refused(db, Unauthenticated, lambda c: repo.person(c, "b" * 64))


async def test_a_project_by_name_by_id_or_the_only_one(db: Database) -> None:
    nothing = await refused(db, UnknownProject, lambda c: repo.project(c, None))
    assert nothing == "there is no project yet; make one with `styx projects create NAME`"
    await db.write(lambda c: repo.add(c, repo.PROJECT, id="prj_b", name="b"))
    for named in (None, "b", "prj_b"):
        assert (await db.read(partial(repo.project, named=named))).id == "prj_b"
    await db.write(lambda c: repo.add(c, repo.PROJECT, id="prj_a", name="a"))
    assert (
        await refused(db, Invalid, lambda c: repo.project(c, None)) == "project: name one of a, b"
    )
    assert (await db.read(lambda c: repo.project(c, "a"))).id == "prj_a"
    unknown = await refused(db, UnknownProject, lambda c: repo.project(c, "x" * 999))
    assert len(unknown) < 200


async def test_a_claim_is_used_once(db: Database) -> None:
    await db.write(lambda c: repo.add(c, repo.CLAIM, code_sha256="k", used=False))
    await refused(db, Unauthenticated, lambda c: repo.use_claim(c, "other"))
    await db.write(lambda c: repo.use_claim(c, "k"))
    await refused(db, Unauthenticated, lambda c: repo.use_claim(c, "k"))
    used = await db.read(lambda c: c.execute(select(repo.CLAIM.c.used)).scalar_one())
    assert used is True


def test_no_model_has_room_for_a_secret() -> None:
    """Whatever is made of a token ends in `_sha256`."""
    for model in (Project, Person, Claim, Task):
        names = set(model.model_fields)
        spoken = {n for n in names if any(w in n for w in ("token", "bearer", "code", "secret"))}
        assert all(name.endswith("_sha256") for name in spoken), spoken
