"""Applies a service's revisions: all that are due in one transaction, or none.

Two at once do no harm: the second waits (PostgreSQL: an advisory lock; SQLite: `BEGIN IMMEDIATE`)
and finds nothing to do. Before it changes a SQLite file it puts a copy beside it, named by the
revision that the copy is at.
"""

import itertools
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from styx_core.db import writing
from styx_core.migrate.adopting import missing
from styx_core.migrate.applying import upgrade
from styx_core.schema import Schema, Stand, WrongSchema, refuse_newer, stand

LOCK = 0x57F7
"""The advisory lock's number: one for all, since each database has locks of its own."""
LOCK_SECONDS = 15
"""Longest that a change waits for a table in use: who waits keeps new callers waiting too."""


@dataclass(frozen=True)
class Done:
    """What a migration did; an empty `applied` and no change of revision: nothing."""

    service: str
    before: str | None
    after: str
    applied: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    """What a database from before migrations lacked, as SQL."""
    copy: str | None = None
    """Where the file as it was is kept (SQLite)."""

    def __str__(self) -> str:
        if self.before == self.after:
            return f"{self.service}: nothing to do, at {self.after}"
        kept = f"; as it was: {self.copy}" if self.copy else ""
        return f"{self.service}: {self.before or 'no revision'} → {self.after}{kept}"


def migrate_all(urls: Mapping[Schema, str]) -> Iterator[Done]:
    """Bring databases up to date, each as it is asked for; none before all of them could be.

    Raises `WrongSchema`.
    """
    for schema, url in urls.items():
        _check(schema, url)
    for schema, url in urls.items():
        yield migrate(schema, url)


def migrate(schema: Schema, url: str) -> Done:
    """Bring a database up to date. Raises `WrongSchema`, with nothing changed."""
    engine = writing(url)
    copies: list[Path] = []
    try:
        with engine.begin() as connection:
            return _migrate(connection, schema, copies)
    except BaseException as error:
        for copy in copies:  # of what is unchanged
            copy.unlink(missing_ok=True)
        if isinstance(error, SQLAlchemyError):
            raise _failed(schema, error) from error
        raise
    finally:
        engine.dispose()


def _check(schema: Schema, url: str) -> None:
    engine = writing(url)
    try:
        with engine.connect() as connection:
            _judged(connection, schema)
    except SQLAlchemyError as error:
        raise _failed(schema, error) from error
    finally:
        engine.dispose()


def _judged(connection: Connection, schema: Schema) -> tuple[Stand, bool, list[str]]:
    """How it stands, whether it is from before revisions, and what it then lacks."""
    was = stand(connection)
    refuse_newer(schema, was)
    adopts = was.revision is None and was.tables
    return was, adopts, missing(connection, schema) if adopts else []


def _migrate(connection: Connection, schema: Schema, copies: list[Path]) -> Done:
    _alone(connection)
    was, adopts, added = _judged(connection, schema)
    if was.revision == schema.head:
        return Done(schema.service, was.revision, schema.head)
    start = schema.revisions[0] if adopts else was.revision
    due = tuple(each for each in schema.revisions if start is None or each > start)
    file = connection.engine.url.database
    if was.tables and (added or due) and connection.dialect.name == "sqlite" and file:
        copies.append(_copied(Path(file), was))
    for statement in added:
        connection.execute(text(statement))
    upgrade(connection, schema, start, stamp=adopts)
    copy = str(copies[0]) if copies else None
    return Done(schema.service, was.revision, schema.head, due, tuple(added), copy)


def _alone(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
        connection.execute(text(f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s'"))


def _copied(file: Path, was: Stand) -> Path:
    """Copy a SQLite file as its last commit left it, beside it."""
    name = f"{file}.at-{was.revision or 'none'}"
    copy = Path(name)
    for number in itertools.count(2):
        if not copy.exists():
            break
        copy = Path(f"{name}.{number}")
    os.close(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")
    except sqlite3.Error as error:
        copy.unlink()
        raise WrongSchema(f"{file} can't be copied before its migration: {error}") from error
    return copy


def _failed(schema: Schema, error: SQLAlchemyError) -> WrongSchema:
    """What the database said, without the row that a second line may show."""
    lines = str(getattr(error, "orig", None) or error).strip().splitlines()
    why = lines[0] if lines else type(error).__name__
    return WrongSchema(
        f"the {schema.service} database could not be migrated ({why}); nothing was changed"
    )
