"""The statements of `broker`."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, update
from styx_core.db import by, into
from styx_core.errors import Invalid, Unauthenticated, UnknownProject, UnknownTask

from styx_broker.models import (
    ApiKey,
    Bearer,
    Channel,
    Claim,
    Connected,
    Mail,
    NoticeRow,
    OAuthClient,
    OAuthCode,
    OAuthToken,
    Person,
    Project,
    Question,
    SignIn,
    Task,
    WebSession,
)
from styx_broker.tokens import same

_WHO = (Project, Person, Claim, Task, Bearer, SignIn, WebSession, ApiKey)
_WHAT = (Channel, NoticeRow, Question, Mail)
PROJECT, PERSON, CLAIM, TASK, BEARER, SIGN_IN, SESSION, API_KEY, CHANNEL, NOTICE, QUESTION, MAIL = (
    model.metadata.tables[str(model.__tablename__)] for model in (*_WHO, *_WHAT)
)
CLIENT, CODE, CONNECTED, TOKEN = (
    model.metadata.tables[str(model.__tablename__)]
    for model in (OAuthClient, OAuthCode, Connected, OAuthToken)
)

Record = Row[Any]


def add(c: Connection, table: Any, **values: Any) -> None:
    """Add a row."""
    c.execute(into(table), values)


def live_task(c: Connection, token_sha256: str, now: datetime) -> Record:
    """The live task that holds a token. Raises `Unauthenticated`."""
    row = c.execute(by(TASK.c.token_sha256), {"value": token_sha256}).one_or_none()
    over = row is None or row.ended_at is not None or (row.until is not None and row.until <= now)
    if row is None or over or not same(row.token_sha256, token_sha256):
        raise Unauthenticated(
            "this token is not of a running task: the task has ended, or the token is wrong; "
            "start the agent with `styx run`"
        )
    return row


def person(c: Connection, bearer_sha256: str) -> str:
    """The person that a bearer belongs to. Raises `Unauthenticated`."""
    row = c.execute(select(BEARER).where(BEARER.c.sha256 == bearer_sha256)).one_or_none()
    if row is None or not same(row.sha256, bearer_sha256):
        raise Unauthenticated("this token is nobody's; sign in with `styx login`")
    return str(row.person)


def browsing(c: Connection, cookie_sha256: str, now: datetime) -> str | None:
    """Who is signed in by a cookie; None for one that is unknown or over."""
    row = c.execute(by(SESSION.c.cookie_sha256), {"value": cookie_sha256}).one_or_none()
    known = row is not None and same(row.cookie_sha256, cookie_sha256) and row.expires_at > now
    return str(row.person) if row is not None and known else None


def first_person(c: Connection) -> str | None:
    """Who claimed the admin link; None before that."""
    query = select(PERSON.c.name).order_by(PERSON.c.joined_at).limit(1)
    return c.execute(query).scalar_one_or_none()


def projects(c: Connection, visible: Collection[str] | None = None) -> list[Record]:
    """Projects by name, of those that are visible (None: all)."""
    query = select(PROJECT).order_by(PROJECT.c.name)
    some = query if visible is None else query.where(PROJECT.c.id.in_(visible))
    return list(c.execute(some))


def project(c: Connection, named: str | None, visible: Collection[str] | None = None) -> Record:
    """A project by name or id, or the only one, of those that are visible (None: all).

    Raises `UnknownProject` or `Invalid`.
    """
    rows = [r for r in projects(c, visible) if named in (None, r.name, r.id)]
    if len(rows) == 1:
        return rows[0]
    if not rows:
        what = f"no project {named[:64]!r}" if named else "there is no project yet"
        raise UnknownProject(f"{what}; make one with `styx projects create NAME`")
    raise Invalid(f"project: name one of {', '.join(r.name for r in rows)}")


def end_task(c: Connection, task_id: str, now: datetime) -> Record:
    """Set a task's end. Raises `UnknownTask` for one that isn't running."""
    running = (TASK.c.id == task_id) & TASK.c.ended_at.is_(None)
    row = c.execute(select(TASK).where(running)).one_or_none()
    if row is None or not c.execute(update(TASK).where(running).values(ended_at=now)).rowcount:
        raise UnknownTask(f"no running task {task_id[:40]!r}")
    return row


def use_claim(c: Connection, code_sha256: str) -> None:
    """Use up an admin link. Raises `Unauthenticated`."""
    row = c.execute(
        select(CLAIM).where(CLAIM.c.code_sha256 == code_sha256).with_for_update()
    ).one_or_none()
    if row is None or row.used:
        raise Unauthenticated("this admin link is wrong or was used already")
    c.execute(update(CLAIM).where(CLAIM.c.code_sha256 == code_sha256).values(used=True))


def claimed(c: Connection) -> bool:
    """Whether the admin link was ever used."""
    return bool(c.execute(select(func.count()).select_from(PERSON)).scalar_one())
