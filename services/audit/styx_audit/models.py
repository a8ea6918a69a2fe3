"""The log's rows: entries, the tree's nodes, signed checkpoints. They are added, never changed.

Triggers in the database itself, which `migrations/` makes, refuse every change.
"""

from sqlalchemy import LargeBinary, MetaData
from sqlmodel import Field, SQLModel
from styx_core.schema import Schema


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
SCHEMA = Schema("audit", METADATA, "styx_audit.migrations")
TABLES = ("entry", "node", "checkpoint")
