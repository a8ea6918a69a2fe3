"""The tables as they were when revisions began."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
fills = {
    "grant.exact": "0",
    "grant.understood": "''",
    "grant.mfa": "0",
    "grant.quorum": "1",
    "grant.own_agent": "1",
    "grant.approvable": "1",
    "key.counter": "0",
    "target.expired": "0",
    "task.ended": "0",
    "outbox.trace": "''",
}
"""What old rows get in a column that a file from before revisions lacks; as SQL, for SQLite."""


def upgrade() -> None:
    """Make them."""
    _approval()
    _grant()
    _invitation()
    _key()
    _lease()
    _member()
    _offer()
    _outbox()
    _policy()
    _sessionkey()
    _spent()
    _target()
    _task()
    _use()


def _approval() -> None:
    op.create_table(
        "approval",
        sa.Column("grant_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("choice", sa.JSON(), nullable=False),
        sa.Column("payload", sa.String(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("grant_id", "person"),
    )


def _grant() -> None:
    op.create_table(
        "grant",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("command", sa.JSON(), nullable=False),
        sa.Column("command_digest", sa.String(), nullable=True),
        sa.Column("exact", sa.Boolean(), nullable=False),
        sa.Column("surface", sa.String(), nullable=True),
        sa.Column("operation", sa.String(), nullable=True),
        sa.Column("understood", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("because", sa.JSON(), nullable=False),
        sa.Column("mfa", sa.Boolean(), nullable=False),
        sa.Column("approvers", sa.JSON(), nullable=True),
        sa.Column("quorum", sa.Integer(), nullable=False),
        sa.Column("own_agent", sa.Boolean(), nullable=False),
        sa.Column("approvable", sa.Boolean(), nullable=False),
        sa.Column("max_seconds", sa.Integer(), nullable=True),
        sa.Column("duration", sa.String(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("decided_person", sa.String(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("end_why", sa.String(), nullable=True),
        sa.Column("extended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("grant_live", "grant", ["target_id", "state"])
    op.create_index("grant_task", "grant", ["task_id", "state"])


def _invitation() -> None:
    op.create_table(
        "invitation",
        sa.Column("code_sha256", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=True),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=True),
        sa.Column("invited_by", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("code_sha256"),
    )


def _key() -> None:
    op.create_table(
        "key",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("public_key", sa.String(), nullable=False),
        sa.Column("credential_id", sa.String(), nullable=True),
        sa.Column("counter", sa.Integer(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("credential_id"),
    )
    op.create_index(op.f("ix_key_person"), "key", ["person"])


def _lease() -> None:
    op.create_table(
        "lease",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("grant_id", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("surface", sa.String(), nullable=True),
        sa.Column("handle", sa.JSON(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scoped", sa.Boolean(), nullable=False),
        sa.Column("revocable", sa.String(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("outcome", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_lease_ended_at"), "lease", ["ended_at"])
    op.create_index(op.f("ix_lease_grant_id"), "lease", ["grant_id"])


def _member() -> None:
    op.create_table(
        "member",
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("person", "project_id"),
    )


def _offer() -> None:
    op.create_table(
        "offer",
        sa.Column("grant_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("target_id", sa.String(), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("duration", sa.String(), nullable=False),
        sa.Column("mfa", sa.Boolean(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("payload", sa.String(), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("taken_by", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("grant_id"),
    )
    op.create_index(op.f("ix_offer_task_id"), "offer", ["task_id"])


def _outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("trace", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("event_id"),
        sqlite_autoincrement=True,
    )


def _policy() -> None:
    op.create_table(
        "policy",
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("toml", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("project_id"),
    )


def _sessionkey() -> None:
    op.create_table(
        "sessionkey",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("public_key", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _spent() -> None:
    op.create_table(
        "spent",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )


def _target() -> None:
    op.create_table(
        "target",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("env", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("credential_ref", sa.String(), nullable=False),
        sa.Column("expired", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("target_name", "target", ["project_id", "name"], unique=True)


def _task() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("worktree", sa.String(), nullable=True),
        sa.Column("branch", sa.String(), nullable=True),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _use() -> None:
    op.create_table(
        "use",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("grant_id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("lease_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
