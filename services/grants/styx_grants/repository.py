"""The statements of `grants`: plain functions over a connection, for use inside a transaction."""

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Row, Update, bindparam, func, or_, select, update
from styx_core.contract.values import TargetView
from styx_core.db import by, into
from styx_core.errors import AmbiguousTarget, Unauthenticated, UnknownGrant, UnknownTarget
from styx_core.scope import Scope, Scopes, ordered

from styx_grants import deadlines
from styx_grants.machine import State
from styx_grants.models import Approval, Grant, Lease, PolicyRow, Target, Task, Use

TASK, TARGET, GRANT, APPROVAL, LEASE, USE, POLICY = (
    model.metadata.tables[str(model.__tablename__)]
    for model in (Task, Target, Grant, Approval, Lease, Use, PolicyRow)
)

_LOCKED = by(GRANT.c.id).with_for_update()
_LIVE = select(GRANT).where(
    GRANT.c.target_id == bindparam("target"),
    GRANT.c.state == State.ACTIVE,
    or_(GRANT.c.task_id == bindparam("task"), GRANT.c.duration == deadlines.Duration.ALWAYS),
)

Record = Row[Any]


def task(c: Connection, task_id: str) -> Record:
    """A live task. Raises `Unauthenticated` for one that is unknown or over."""
    row = c.execute(by(TASK.c.id), {"value": task_id}).one_or_none()
    if row is None or row.ended:
        raise Unauthenticated("this task has ended or was never started; start one with `styx run`")
    return row


def target_named(c: Connection, project_id: str, name: str) -> Record:
    """A project's target by name or id. Raises `UnknownTarget`."""
    row = c.execute(
        select(TARGET).where(
            TARGET.c.project_id == project_id, or_(TARGET.c.name == name, TARGET.c.id == name)
        )
    ).one_or_none()
    if row is None:
        raise UnknownTarget(f"no target {name[:64]!r} in this project; list_targets shows them")
    return row


def targets(
    c: Connection, projects: Collection[str] | None, provider: str | None = None
) -> list[Record]:
    """Targets by name, of these projects (None: of all)."""
    if projects is not None and len(projects) == 1:
        rows = c.execute(by(TARGET.c.project_id), {"value": next(iter(projects))})
    else:
        query = select(TARGET)
        some = query if projects is None else query.where(TARGET.c.project_id.in_(projects))
        rows = c.execute(some)
    found = [row for row in rows if provider in (None, row.provider)]
    return sorted(found, key=lambda row: str(row.name))


def live(c: Connection, task_id: str, target_id: str, now: datetime) -> list[Record]:
    """Grants that this task may use on this target now: its own, and standing ones."""
    rows = c.execute(_LIVE, {"target": target_id, "task": task_id})
    return [row for row in rows if deadlines.due(times(row), now) is None]


def covering(
    grants: Iterable[Record], scopes: Scopes, digest: str | None, exec_id: str | None
) -> Record | None:
    """The grant that covers these scopes; a this-command-once grant covers its own command only."""
    for row in grants:
        if not scopes <= set(row.scopes):
            continue
        if row.duration != deadlines.Duration.ONCE:
            return row
        if digest is not None and row.command_digest == digest and row.used_by in (None, exec_id):
            return row
    return None


def choose_target(
    c: Connection,
    task_row: Record,
    provider: str,
    named: str | None,
    host: str | None,
    now: datetime,
) -> Record:
    """The target that a call is for.

    By its given name; by the host that the call names; as the only one of its provider; or as the
    only one on which the task holds a live grant. Raises `UnknownTarget` or `AmbiguousTarget`.
    """
    if named is not None:
        row = target_named(c, task_row.project_id, named)
        if row.provider != provider:
            raise UnknownTarget(f"target {row.name} is not reached by this tool")
        return row
    rows = targets(c, (task_row.project_id,), provider)
    if host is not None:
        rows = [r for r in rows if host in (r.name, r.config.get("host"))]
    if not rows:
        where = f" for host {host[:64]!r}" if host else ""
        raise UnknownTarget(f"this project has no {provider} target{where}; connect one in Styx")
    open_ones = [r for r in rows if live(c, task_row.id, r.id, now)] if len(rows) > 1 else rows
    if len(open_ones) != 1:
        names = ", ".join(r.name for r in rows)
        raise AmbiguousTarget(f"several targets fit: {names}; set STYX_TARGET to the one you mean")
    return open_ones[0]


def times(row: Record) -> deadlines.GrantView:
    """A grant's times, for the arithmetic of deadlines."""
    return deadlines.GrantView(
        state=State(row.state),
        duration=deadlines.Duration(row.duration),
        requested_at=row.created_at,
        approved_at=row.decided_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )


def grant(c: Connection, grant_id: str, lock: bool = False) -> Record:
    """A grant, for changing it if `lock`. Raises `UnknownGrant`."""
    query = _LOCKED if lock else by(GRANT.c.id)
    row = c.execute(query, {"value": grant_id}).one_or_none()
    if row is None:
        raise UnknownGrant(f"unknown grant {grant_id[:40]}")
    return row


def task_grant(c: Connection, task_row: Record, grant_id: str) -> Record:
    """A grant that this task may see: its own, or a standing one of its project."""
    row = grant(c, grant_id)
    standing = row.duration == deadlines.Duration.ALWAYS and row.project_id == task_row.project_id
    if row.task_id != task_row.id and not standing:
        raise UnknownGrant(f"unknown grant {grant_id[:40]}")
    return row


@cache
def _setting(*names: str) -> Update:
    changed: dict[str, Any] = {name: bindparam(name) for name in names}
    return update(GRANT).where(GRANT.c.id == bindparam("which")).values(changed)


def set_grant(c: Connection, grant_id: str, **values: Any) -> None:
    """Change columns of a grant."""
    c.execute(_setting(*values), {**values, "which": grant_id})


def add(c: Connection, table: Any, **values: Any) -> None:
    """Add a row."""
    c.execute(into(table), values)


def queue_position(c: Connection, row: Record) -> int:
    """How many requests of the project wait up to and with this one."""
    query = select(func.count()).where(
        GRANT.c.project_id == row.project_id,
        GRANT.c.state == State.PENDING,
        GRANT.c.created_at <= row.created_at,
    )
    return int(c.execute(query).scalar_one())


def open_leases(c: Connection, grant_id: str | None = None) -> list[Record]:
    """Leases not yet ended; without a grant's id, those of grants that are no longer active."""
    query = select(LEASE, GRANT.c.target_id, GRANT.c.project_id, GRANT.c.task_id).join(
        GRANT, GRANT.c.id == LEASE.c.grant_id
    )
    query = query.where(LEASE.c.ended_at.is_(None))
    if grant_id is None:
        query = query.where(GRANT.c.state != State.ACTIVE)
    else:
        query = query.where(LEASE.c.grant_id == grant_id)
    return list(c.execute(query))


def target_view(c: Connection, row: Record, task_id: str | None, now: datetime) -> TargetView:
    """A target as people see it, or as one task does."""
    grants = live(c, task_id or "", row.id, now)
    scopes = ordered({Scope(s) for g in grants for s in g.scopes})
    state = "locked"
    if row.expired:
        state = "expired"
    elif any(g.duration == deadlines.Duration.ALWAYS for g in grants):
        state = "persistent"
    elif grants:
        state = "open"
    return TargetView(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        provider=row.provider,
        env=row.env,
        label=row.label,
        config=row.config,
        lock_state=state,
        scopes=scopes,
    )
