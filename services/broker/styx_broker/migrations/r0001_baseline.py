"""The tables as they were when revisions began."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
fills = {
    "claim.used": "0",
    "notice.tries": "0",
    "oauthcode.replayed": "0",
    "outbox.trace": "''",
    "task.status": "''",
    "task.retired": "0",
}
"""What old rows get in a column that a file from before revisions lacks; as SQL, for SQLite."""


def upgrade() -> None:
    """Make them."""
    _apikey()
    _bearer()
    _channel()
    _claim()
    _connected()
    _mail()
    _notice()
    _oauthclient()
    _oauthcode()
    _oauthtoken()
    _outbox()
    _person()
    _project()
    _question()
    _signin()
    _task()
    _websession()


def _apikey() -> None:
    op.create_table(
        "apikey",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("may", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("sha256"),
    )
    op.create_index(op.f("ix_apikey_project_id"), "apikey", ["project_id"])


def _bearer() -> None:
    op.create_table(
        "bearer",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index(op.f("ix_bearer_person"), "bearer", ["person"])


def _channel() -> None:
    op.create_table(
        "channel",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("kinds", sa.String(), nullable=False),
        sa.Column("only_own", sa.Boolean(), nullable=False),
        sa.Column("after_minutes", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_channel_project_id"), "channel", ["project_id"])


def _claim() -> None:
    op.create_table(
        "claim",
        sa.Column("code_sha256", sa.String(), nullable=False),
        sa.Column("used", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("code_sha256"),
    )


def _connected() -> None:
    op.create_table(
        "connected",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("client", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_connected_client_id"), "connected", ["client_id"])
    op.create_index(op.f("ix_connected_project_id"), "connected", ["project_id"])


def _mail() -> None:
    op.create_table(
        "mail",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("to", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("sender", sa.String(), nullable=True),
        sa.Column("about", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("to", "event_id", "kind"),
        sa.UniqueConstraint("to", "number"),
    )
    op.create_index(op.f("ix_mail_due_at"), "mail", ["due_at"])
    op.create_index(op.f("ix_mail_to"), "mail", ["to"])


def _notice() -> None:
    op.create_table(
        "notice",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("channel_id", sa.String(), nullable=False),
        sa.Column("event_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("grant_id", sa.String(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.String(), nullable=True),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dead_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("channel_id", "event_id", "kind"),
    )
    op.create_index(op.f("ix_notice_channel_id"), "notice", ["channel_id"])
    op.create_index(op.f("ix_notice_due_at"), "notice", ["due_at"])


def _oauthclient() -> None:
    op.create_table(
        "oauthclient",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("redirect_uris", sa.JSON(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )


def _oauthcode() -> None:
    op.create_table(
        "oauthcode",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("client_id", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("redirect_uri", sa.String(), nullable=False),
        sa.Column("challenge", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("connection_id", sa.String(), nullable=True),
        sa.Column("replayed", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("sha256"),
    )


def _oauthtoken() -> None:
    op.create_table(
        "oauthtoken",
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("connection_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("sha256"),
    )
    op.create_index(op.f("ix_oauthtoken_connection_id"), "oauthtoken", ["connection_id"])
    op.create_index(op.f("ix_oauthtoken_expires_at"), "oauthtoken", ["expires_at"])


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


def _person() -> None:
    op.create_table(
        "person",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("joined_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def _project() -> None:
    op.create_table(
        "project",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )


def _question() -> None:
    op.create_table(
        "question",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("task_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answer", sa.String(), nullable=True),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("answered_by", sa.String(), nullable=True),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("told_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_question_task_id"), "question", ["task_id"])


def _signin() -> None:
    op.create_table(
        "signin",
        sa.Column("nonce_sha256", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("nonce_sha256"),
    )


def _task() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("branch", sa.String(), nullable=True),
        sa.Column("worktree", sa.String(), nullable=True),
        sa.Column("token_sha256", sa.String(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("token_sha256"),
    )


def _websession() -> None:
    op.create_table(
        "websession",
        sa.Column("cookie_sha256", sa.String(), nullable=False),
        sa.Column("person", sa.String(), nullable=False),
        sa.Column("session", sa.String(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("cookie_sha256"),
    )
    op.create_index(op.f("ix_websession_person"), "websession", ["person"])
