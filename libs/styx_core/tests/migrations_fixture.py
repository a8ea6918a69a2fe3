"""A made-up service whose revisions a test writes as it goes."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from sqlalchemy import MetaData
from styx_core.schema import Schema

REVISION = '''"""Made for a test."""

import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = {before}
{marks}

def upgrade() -> None:
    """Apply it."""
    {body}
'''
FIRST = """op.create_table(
        "pet", sa.Column("id", sa.String(), primary_key=True), sa.Column("legs", sa.Integer()),
        sa.Column("name", sa.String(), nullable=False), sa.UniqueConstraint("name"),
    )
    op.create_index("pet_legs", "pet", ["legs"])
    op.create_table("toy", sa.Column("id", sa.String(), primary_key=True))
    if op.get_context().dialect.name == "sqlite":
        op.execute("CREATE TRIGGER toy_stays BEFORE DELETE ON toy BEGIN"
                   " SELECT RAISE(ABORT, 'toys stay'); END")"""
COLOUR = 'op.add_column("pet", sa.Column("colour", sa.String()))'
Write = Callable[..., Schema]


class Package:
    """The service's package in a folder; each `add` answers with its schema as it is then."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.count = name, 0
        self.folder = folder / name / "migrations"
        self.folder.mkdir(parents=True)

    def add(self, body: str, marks: str = "") -> Schema:
        """Write the next revision."""
        before = repr(f"{self.count:04d}") if self.count else None
        self.count += 1
        number = f"{self.count:04d}"
        text = REVISION.format(number=number, before=before, marks=marks, body=body)
        (self.folder / f"r{number}_step.py").write_text(text)
        return self.schema()

    def schema(self) -> Schema:
        """What code with these revisions says."""
        return Schema("zoo", MetaData(), f"{self.name}.migrations")


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    """What a query finds in a file."""
    with closing(sqlite3.connect(path)) as c:
        return c.execute(query).fetchall()


def run(path: Path, script: str) -> None:
    """Change a file by hand."""
    with closing(sqlite3.connect(path)) as c:
        c.executescript(script)


def about(path: Path) -> list[tuple[object, ...]]:
    """All that SQLite says of a file's tables, and their rows' number."""
    made = rows(path, "SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2")
    names = [name for kind, name, _ in made if kind == "table"]
    return [*made, *((n, *rows(path, f'SELECT count(*) FROM "{n}"')) for n in names)]
