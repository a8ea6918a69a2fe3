"""Databases: a transaction is a plain function, so nothing can be awaited inside one.

`write(fn)` runs `fn(connection)` in a writer thread and returns its value once it is committed.
On SQLite one writer serves a queue and commits in groups (each function in its own savepoint), so
that 16 callers share one flush to disk; on PostgreSQL a few writers hold a connection each.
`read(fn)` runs in a pool of threads; `glance(fn)`, for a few rows, needs none. The only file that
makes engines.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Insert,
    Select,
    Table,
    bindparam,
    create_engine,
    event,
    insert,
    select,
    text,
)
from sqlalchemy.exc import OperationalError

from styx_core.errors import Unavailable

T = TypeVar("T")
Job = tuple[Callable[[Connection], Any], "Future[Any]"]

GROUP = 64
"""Most transactions in one commit."""
KINDS = ("sqlite", "postgresql+psycopg")
"""Databases that this can be, as SQLAlchemy names them with their driver."""


class Database:
    """One service's own database, whose tables are there (`schema.py`).

    Raises `ValueError` for a URL of another kind than `KINDS`.
    """

    def __init__(self, url: str, after_commit: Callable[[], None]) -> None:
        self.sqlite = url.startswith("sqlite")
        self._engine: Engine = writing(url)
        self.reading: Engine = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        if self.sqlite:
            self.reading = _engine(url)
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="db-read")
        self._local = threading.local()
        self._after_commit = after_commit
        self._writers = [
            threading.Thread(target=self._write_loop, name=f"db-write-{n}", daemon=True)
            for n in range(1 if self.sqlite else 4)
        ]
        for writer in self._writers:
            writer.start()

    async def write(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` in a transaction of its own; what it raises rolls it back and is raised here."""
        done: Future[T] = Future()
        self._jobs.put((fn, done))
        return await asyncio.wrap_future(done)

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on a read connection."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._readers, self._read, fn)

    async def glance(self, fn: Callable[[Connection], T]) -> T:
        """`read` for a few rows by key: on SQLite at once, since a thread's turn costs more."""
        return self._read(fn) if self.sqlite else await self.read(fn)

    async def close(self) -> None:
        """Finish what was asked, then close every connection."""
        for _ in self._writers:
            self._jobs.put(None)
        for writer in self._writers:
            await asyncio.to_thread(writer.join, 5)
        self._readers.shutdown(wait=True)
        self._engine.dispose()
        self.reading.dispose()

    def _read(self, fn: Callable[[Connection], T]) -> T:
        connection = getattr(self._local, "connection", None)
        try:
            if connection is None or connection.invalidated:
                connection = self._local.connection = self.reading.connect()
            return fn(connection)
        except OperationalError as error:
            if connection is not None:
                connection.invalidate()
            raise _unavailable(error) from error

    def _write_loop(self) -> None:
        connection: Connection | None = None
        while (job := self._jobs.get()) is not None:
            taken = [job, *self._waiting()] if self.sqlite else [job]
            # From here on it can't be cancelled: another's leaving must not spoil a whole group.
            group = [each for each in taken if each[1].set_running_or_notify_cancel()]
            if not group:
                continue
            try:
                connection = connection or self._engine.connect()
                self._commit(connection, group)
            except BaseException as error:  # noqa: BLE001 (a writer must outlive any job)
                _drop(connection)
                connection = None
                for _, done in group:
                    if not done.done():
                        done.set_exception(_unavailable(error))

    def _waiting(self) -> list[Job]:
        group: list[Job] = []
        while len(group) < GROUP - 1 and not self._jobs.empty():
            job = self._jobs.get()
            if job is None:
                self._jobs.put(None)
                break
            group.append(job)
        return group

    def _commit(self, connection: Connection, group: list[Job]) -> None:
        if len(group) == 1:  # the transaction is its own: a savepoint would cost as much again
            return self._commit_alone(connection, *group[0])
        results: list[tuple[Future[Any], Any]] = []
        with connection.begin():
            for fn, done in group:
                try:
                    with connection.begin_nested():
                        results.append((done, fn(connection)))
                except OperationalError:
                    raise
                except BaseException as error:  # noqa: BLE001 (it belongs to that caller)
                    done.set_exception(error)
        for done, value in results:
            done.set_result(value)
        if results:
            self._after_commit()

    def _commit_alone(
        self, connection: Connection, fn: Callable[[Connection], Any], done: "Future[Any]"
    ) -> None:
        try:
            with connection.begin():
                value = fn(connection)
        except OperationalError:
            raise
        except BaseException as error:  # noqa: BLE001 (it belongs to that caller)
            done.set_exception(error)
        else:
            done.set_result(value)
            self._after_commit()


@cache
def by(column: "ColumnElement[Any]") -> "Select[Any]":
    """The rows whose `column` is `:value`: built once, since building costs twice the running."""
    return select(column.table).where(column == bindparam("value"))


@cache
def into(table: Table) -> Insert:
    """An insert into `table`, built once."""
    return insert(table)


def _unavailable(error: BaseException) -> BaseException:
    if isinstance(error, OperationalError):
        reason = str(error.orig).splitlines()[0] if error.orig else "no answer"
        return Unavailable(f"the database can't take this now ({reason}); try again")
    return error


def _drop(connection: Connection | None) -> None:
    if connection is not None:
        connection.invalidate()
        connection.close()


def writing(url: str) -> Engine:
    """An engine whose transactions may write. Raises `ValueError` for a URL of no known kind."""
    engine = _engine(url)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "begin", _begin_immediate)
    return engine


def _engine(url: str) -> Engine:
    kind = url.partition("://")[0] if "://" in url else ""
    if kind not in KINDS:
        raise ValueError(
            f"no database of the kind {kind!r}: STYX_DATABASE_URL begins with sqlite:/// or"
            " postgresql+psycopg://"
        )
    if kind != "sqlite":
        return create_engine(url, pool_size=10, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"check_same_thread": False, "timeout": 5})
    event.listen(engine, "connect", _set_up_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _record: Any) -> None:
    # Without the driver's own transactions a statement stands alone, until we begin one.
    connection.isolation_level = None
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        "recursive_triggers=ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_immediate(connection: Connection) -> None:
    """A deferred read-then-write would fail with "database is locked"."""
    connection.execute(text("BEGIN IMMEDIATE"))
