"""The tables as they were when revisions began, and what keeps them append-only.

On SQLite an INSERT that would replace a row is refused too: `INSERT OR REPLACE` passes by the other
triggers.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

KEYS = {
    "entry": "seq = NEW.seq OR event_id = NEW.event_id",
    "node": "level = NEW.level AND position = NEW.position",
    "checkpoint": "size = NEW.size",
}
"""The tables that only grow, and by what a new row would be an old one."""


def upgrade() -> None:
    """Make them."""
    _checkpoint()
    _entry()
    _node()
    guards = _sqlite if op.get_context().dialect.name == "sqlite" else _postgresql
    for table, same in KEYS.items():
        for statement in guards(table, same):
            op.execute(statement)


def _checkpoint() -> None:
    op.create_table(
        "checkpoint",
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("note", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("size"),
    )


def _entry() -> None:
    op.create_table(
        "entry",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("at", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("grant_id", sa.String(), nullable=True),
        sa.Column("target", sa.String(), nullable=True),
        sa.Column("body", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("event_id"),
    )
    op.create_index(op.f("ix_entry_actor"), "entry", ["actor"])
    op.create_index(op.f("ix_entry_at"), "entry", ["at"])
    op.create_index(op.f("ix_entry_grant_id"), "entry", ["grant_id"])
    op.create_index(op.f("ix_entry_kind"), "entry", ["kind"])
    op.create_index(op.f("ix_entry_project_id"), "entry", ["project_id"])
    op.create_index(op.f("ix_entry_target"), "entry", ["target"])
    op.create_index(op.f("ix_entry_task_id"), "entry", ["task_id"])


def _node() -> None:
    op.create_table(
        "node",
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("level", "position"),
        sqlite_with_rowid=False,
    )


def _sqlite(table: str, same: str) -> list[str]:
    stop = "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    return [
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {stop}",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {stop}",
        f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "  # noqa: S608
        f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {stop}",
    ]


def _postgresql(table: str, _same: str) -> list[str]:
    return [
        "CREATE OR REPLACE FUNCTION styx_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$",
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION styx_append_only()",
        f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION styx_append_only()",
    ]
