"""Which revision a database is at, and whether this code may open it.

A service's tables come by numbered revisions, `styx_<name>/migrations/rNNNN_<what>.py`, that
`migrate/` applies, forward only. The database keeps its revision in Alembic's own table, and in
`FLOOR` the oldest revision whose code may still run on it: new tables and columns leave that code
alone, only a revision marked `contract` raises it.

Nothing here imports Alembic: a start on a current database pays a folder's listing and a query.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, select

from styx_core.db import writing

VERSION = Table("alembic_version", MetaData(), Column("version_num", String(32), primary_key=True))
FLOOR = Table("styx_schema", MetaData(), Column("floor", String(32), primary_key=True))
OWN = frozenset({VERSION.name, FLOOR.name})
"""Tables that are no service's."""
NAME = re.compile(r"r(\d{4})_\w+\.py")
POLL_SECONDS = 0.5


class WrongSchema(ValueError):
    """A database that this code must not open, or can't bring up to date; the text says why."""


@dataclass(frozen=True)
class Schema:
    """A service's tables: as its models say (`metadata`), and the package of their revisions."""

    service: str
    metadata: MetaData
    package: str

    @cached_property
    def folder(self) -> Path:
        """Where the revisions are."""
        spec = find_spec(self.package)
        if spec is None or not spec.submodule_search_locations:
            raise LookupError(f"{self.package} is no package")
        return Path(spec.submodule_search_locations[0])

    @cached_property
    def revisions(self) -> tuple[str, ...]:
        """The numbers of all revisions, oldest first."""
        found = (NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return tuple(sorted(match[1] for match in found if match))

    @property
    def head(self) -> str:
        """The newest."""
        return self.revisions[-1]


@dataclass(frozen=True)
class Stand:
    """How a database was found; no `revision`: nothing ever migrated it."""

    revision: str | None
    floor: str | None
    tables: bool
    """Whether a service's tables are there."""


def stand(connection: Connection) -> Stand:
    """How this database stands."""
    names = set(inspect(connection).get_table_names())
    revision, floor = (
        connection.execute(select(*table.c)).scalar() if table.name in names else None
        for table in (VERSION, FLOOR)
    )
    return Stand(revision, floor, bool(names - OWN))


def found(url: str) -> Stand:
    """How the database at a URL stands. Raises `OperationalError` if it can't be reached."""
    engine = writing(url)
    try:
        with engine.connect() as connection:
            return stand(connection)
    finally:
        engine.dispose()


def refuse_newer(schema: Schema, stand: Stand) -> None:
    """Raises `WrongSchema` for a revision that this code doesn't have."""
    if stand.revision is not None and stand.revision not in schema.revisions:
        raise WrongSchema(
            f"the {schema.service} database is at revision {stand.revision}, which is newer than"
            f" this code's {schema.head}: start the version of Styx that it was last used with, or"
            " a newer one"
        )


def usable(schema: Schema, stand: Stand) -> bool:
    """Whether code with this schema may run on the database; False while it is older.

    A newer one will do if only expansions made it so, as in a team while replicas are replaced.
    Raises `WrongSchema` if the newer one is no longer for this code.
    """
    if stand.revision is None or stand.revision in schema.revisions:
        return stand.revision == schema.head
    if stand.revision > schema.head and (stand.floor or "") <= schema.head:
        return True
    refuse_newer(schema, stand)
    raise AssertionError("unreachable")


async def settled(schema: Schema, url: str, seconds: float) -> None:
    """Wait until the database is usable. Raises `WrongSchema` when the time is over, or at once."""
    try:
        async with asyncio.timeout(seconds):
            while not usable(schema, await asyncio.to_thread(found, url)):
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise WrongSchema(
            f"the {schema.service} database is older than this code, which needs revision"
            f" {schema.head}: run `python -m styx_core.migrate {schema.service}`"
        ) from None


def bring_up(urls: Mapping[Schema, str]) -> list[str]:
    """Migrate the databases that aren't current, or none. Raises `WrongSchema`.

    What was done, in a line each, where there was something before.
    """
    was = {schema: found(url) for schema, url in urls.items()}
    due = {schema: urls[schema] for schema in urls if was[schema].revision != schema.head}
    if not due:
        return []
    from styx_core.migrate.running import migrate_all

    done = zip(due, migrate_all(due), strict=True)
    return [str(each) for schema, each in done if was[schema].tables]
