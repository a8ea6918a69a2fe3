"""The log's rows: entries, the tree's nodes, signed checkpoints. They are added, never changed.

Triggers refuse UPDATE and DELETE in the database itself; on SQLite an INSERT that would replace a
row is refused too (`INSERT OR REPLACE` passes by the other triggers).
"""

from sqlalchemy import DDL, LargeBinary, MetaData, event
from sqlmodel import Field, SQLModel


class Row(SQLModel):
    """The root of this service's tables: a metadata of its own."""

    metadata = MetaData()


class Entry(Row, table=True):
    """One event: `body` is its canonical JSON, which the leaf hash is made of."""

    seq: int = Field(primary_key=True)
    event_id: str = Field(unique=True)
    at: str = Field(index=True)
    kind: str = Field(index=True)
    actor: str = Field(index=True)
    project_id: str | None = Field(default=None, index=True)
    task_id: str | None = Field(default=None, index=True)
    grant_id: str | None = Field(default=None, index=True)
    target: str | None = Field(default=None, index=True)
    body: str


class Node(Row, table=True):
    """A complete subtree's hash."""

    # A hidden row id would be a second key, by which INSERT OR REPLACE could pass the trigger.
    __table_args__ = {"sqlite_with_rowid": False}
    level: int = Field(primary_key=True)
    position: int = Field(primary_key=True)
    hash: bytes = Field(sa_type=LargeBinary)


class SignedCheckpoint(Row, table=True):
    """The log's head at a size, signed."""

    __tablename__ = "checkpoint"
    size: int = Field(primary_key=True)
    note: str


METADATA = Row.metadata
TABLES = ("entry", "node", "checkpoint")
_KEY = {"entry": "seq = NEW.seq OR event_id = NEW.event_id", "checkpoint": "size = NEW.size"}
_KEY["node"] = "level = NEW.level AND position = NEW.position"


def _sqlite(table: str) -> list[str]:
    stop = "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    return [
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {stop}",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {stop}",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "  # noqa: S608
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {_KEY[table]}) {stop}",
    ]


def _postgresql(table: str) -> list[str]:
    return [
        "CREATE OR REPLACE FUNCTION styx_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION styx_append_only()",
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION styx_append_only()",
    ]


for _table in TABLES:
    for _dialect, _make in (("sqlite", _sqlite), ("postgresql", _postgresql)):
        for _statement in _make(_table):
            event.listen(
                METADATA.tables[_table],
                "after_create",
                DDL(_statement).execute_if(dialect=_dialect),  # type: ignore[no-untyped-call]
            )
