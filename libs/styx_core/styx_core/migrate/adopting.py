"""Takes in a SQLite file from before migrations: what it lacks of the first revision.

The first revision is applied to a database in memory, and both are compared as SQLite itself
describes them. Missing tables, indexes and triggers are made with SQLite's own text of them; a
missing column is added if it may be null or if the revision's `fills` says what stands in old rows;
a table that is too unlike is made anew if it is empty. What is more than the revision knows is left
alone, as long as new rows can do without it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, text

from styx_core.db import writing
from styx_core.migrate.applying import upgrade
from styx_core.schema import OWN, Schema, WrongSchema


@dataclass(frozen=True)
class Fields:
    """A table as SQLite describes it."""

    columns: Mapping[str, tuple[str, bool, bool]]
    """By name: its type, whether it needs a value, whether it is of the key."""
    defaults: frozenset[str]
    unique: frozenset[tuple[str, ...]]
    rowid: bool


@dataclass(frozen=True)
class Shape:
    """All of a database: tables, and SQLite's text of everything by (type, table, name)."""

    tables: Mapping[str, Fields]
    made: Mapping[tuple[str, str, str], str]


def missing(connection: Connection, schema: Schema) -> list[str]:
    """The statements that make a database from before migrations the first revision's.

    Raises `WrongSchema` if there are none that could.
    """
    if connection.dialect.name != "sqlite":
        raise WrongSchema(
            f"the {schema.service} database has tables and no revision: give `migrate` an empty"
            " database, or restore one that it made"
        )
    first = schema.revisions[0]
    old, new = _shape(connection), _baseline(schema, first)
    fills: Mapping[str, str] = _fills(schema, first)
    trouble: list[str] = []
    statements: list[str] = []
    anew: set[str] = set()
    for name in [table for table in new.tables if table in old.tables]:
        unlike = [*_unlike(name, old, new, fills)]
        if not unlike:
            statements += _columns(name, old.tables[name], new.tables[name], fills)
        elif _empty(connection, name):
            anew.add(name)
            statements.append(f'DROP TABLE "{name}"')
        trouble += unlike if name not in anew else []
    kept = {key for key in old.made if key[1] not in anew}
    statements += [made for key, made in new.made.items() if key not in kept]
    if trouble:
        raise WrongSchema(
            f"the {schema.service} database is from a version before migrations, and can't be"
            f" brought up to date; what is in the way: {', '.join(sorted(trouble))}. Nothing was"
            " changed: go on with the version that made it, or move its data folder away and"
            " start anew"
        )
    return statements


def _columns(table: str, old: Fields, new: Fields, fills: Mapping[str, str]) -> Iterator[str]:
    for column, (kind, needs, _) in new.columns.items():
        if column not in old.columns:
            rest = f" NOT NULL DEFAULT {fills[f'{table}.{column}']}" if needs else ""
            yield f'ALTER TABLE "{table}" ADD COLUMN "{column}" {kind}{rest}'


def _unlike(table: str, old: Shape, new: Shape, fills: Mapping[str, str]) -> Iterator[str]:
    """What no added column could mend."""
    was, wanted = old.tables[table], new.tables[table]
    needed = {column for column, (_, needs, _) in wanted.columns.items() if needs}
    for column in sorted(needed - was.columns.keys()):
        if f"{table}.{column}" not in fills:
            yield f"no column {table}.{column}, and nothing to fill it with"
    for column, about in was.columns.items():
        if column in wanted.columns and wanted.columns[column] != about:
            yield f"column {table}.{column} is another"
        if column not in wanted.columns and about[1] and column not in was.defaults:
            yield f"column {table}.{column} is unknown here and needs a value"
    yield from _beside(table, old, new)


def _beside(table: str, old: Shape, new: Shape) -> Iterator[str]:
    was, wanted = old.tables[table], new.tables[table]
    if was.unique != wanted.unique or was.rowid != wanted.rowid:
        yield f"the keys of {table} are others"
    for key, made in old.made.items():
        if key[0] != "table" and key[1] == table and new.made.get(key, made) != made:
            yield f"{key[0]} {key[2]} is another"


def _empty(connection: Connection, table: str) -> bool:
    query = f'SELECT 1 FROM "{table}" LIMIT 1'  # noqa: S608 (a name from this very database)
    return connection.execute(text(query)).first() is None


def _shape(connection: Connection) -> Shape:
    rows = connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_master")).all()
    mine = [r for r in rows if r.tbl_name not in OWN and not r.name.startswith("sqlite_")]
    made = {(r.type, r.tbl_name, r.name): r.sql for r in mine}
    tables = {r.name: _fields(connection, r.name, r.sql) for r in mine if r.type == "table"}
    return Shape(tables, made)


def _fields(connection: Connection, table: str, sql: str) -> Fields:
    def pragma(name: str, of: str) -> list[Any]:
        return list(connection.execute(text(f'PRAGMA {name}("{of}")')).all())

    about = pragma("table_info", table)
    unique = {
        tuple(sorted(part.name for part in pragma("index_info", index.name)))
        for index in pragma("index_list", table)
        if index.origin == "u"
    }
    return Fields(
        {c.name: (c.type, bool(c.notnull), bool(c.pk)) for c in about},
        frozenset(c.name for c in about if c.dflt_value is not None),
        frozenset(unique),
        "WITHOUT ROWID" not in sql.upper(),
    )


def _baseline(schema: Schema, first: str) -> Shape:
    engine = writing("sqlite://")
    try:
        with engine.begin() as connection:
            upgrade(connection, schema, None, to=first)
            return _shape(connection)
    finally:
        engine.dispose()


def _fills(schema: Schema, first: str) -> Mapping[str, str]:
    name = next(path.stem for path in schema.folder.glob(f"r{first}_*.py"))
    return getattr(import_module(f"{schema.package}.{name}"), "fills", {})
