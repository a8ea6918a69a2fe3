"""Runs revisions through Alembic, on a connection whose transaction is the caller's."""

from collections.abc import Sequence

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, delete, insert

from styx_core.schema import FLOOR, Schema


def history(schema: Schema) -> ScriptDirectory:
    """A service's revisions, as Alembic reads them."""
    return ScriptDirectory(str(schema.folder), version_locations=[str(schema.folder)])


def upgrade(
    connection: Connection,
    schema: Schema,
    start: str | None,
    to: str = "head",
    stamp: bool = False,
) -> None:
    """Apply what follows `start`, within the transaction under way; `stamp`: first say that
    `start` is where it is."""
    script = history(schema)
    options = {
        "fn": lambda heads, _context: script._upgrade_revs(to, heads),
        "transactional_ddl": True,
    }
    context = MigrationContext.configure(connection, opts=options)
    if stamp and start is not None:
        context.stamp(script, start)
    with context.begin_transaction(), Operations.context(context):
        context.run_migrations()
    _set_floor(connection, script, schema.revisions)


def _set_floor(connection: Connection, script: ScriptDirectory, revisions: Sequence[str]) -> None:
    """Note which code may still run here: the oldest that each contracting revision waited for."""
    modules = [script.get_revision(each).module for each in revisions]
    floors = [each.expanded_by for each in modules if getattr(each, "contract", False)]
    FLOOR.create(connection, checkfirst=True)
    connection.execute(delete(FLOOR))
    connection.execute(insert(FLOOR), {"floor": max(floors, default=revisions[0])})
