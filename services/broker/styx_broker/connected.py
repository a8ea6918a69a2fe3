"""Connected clients: each works as a task of its person in one project.

A connection ends when the person or an owner says so, when it was unused for 30 days, when the
person may run agents there no more, when its task was ended, and when one of its tokens was
replayed. With it end its tokens and its task.
"""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, delete, select, update
from styx_core.contract.broker import ClientAccessEnded, ClientTokenReplayed
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.contract.values import Role
from styx_core.errors import StyxError, UnknownTask
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.ending import end_task, retire, unretired
from styx_broker.oauth_clients import UNUSED

RUNNING: Final[tuple[Role, ...]] = ("owner", "approver", "member")
"""Roles whose people may run agents."""
IDLE: Final = "it was not used for 30 days"
LEFT: Final = "its person may run no agents in this project any more"
STOPPED: Final = "its task was ended"


def _standing() -> Select[Any]:
    return (
        select(repo.CONNECTED, repo.TASK.c.ended_at.label("task_ended_at"))
        .join(repo.TASK, repo.TASK.c.id == repo.CONNECTED.c.task_id)
        .where(repo.CONNECTED.c.ended_at.is_(None))
    )


def of_projects(c: Connection, projects: Sequence[str] | None) -> list[repo.Record]:
    """Connections that have not ended, newest first, of these projects (None: all)."""
    query = _standing().order_by(repo.CONNECTED.c.id.desc())
    some = query if projects is None else query.where(repo.CONNECTED.c.project_id.in_(projects))
    return list(c.execute(some))


def find(c: Connection, connection_id: str) -> repo.Record | None:
    """A connection that has not ended, with `task_ended_at`."""
    return c.execute(_standing().where(repo.CONNECTED.c.id == connection_id)).one_or_none()


def over(row: repo.Record, now: datetime) -> str | None:
    """Why a connection is over, by what its rows say."""
    if row.task_ended_at is not None:
        return STOPPED
    return IDLE if row.used_at + UNUSED <= now else None


def may_run(roles: Mapping[str, Role], project_id: str) -> bool:
    """Whether somebody with these roles may run agents in a project."""
    return bool({roles.get(project_id), roles.get(EVERYWHERE)} & set(RUNNING))


def ending(
    rows: Collection[repo.Record], people: Mapping[str, Mapping[str, Role]], now: datetime
) -> dict[str, str]:
    """Which connections are over, and why; `people`: everybody's roles."""
    return {
        row.id: why
        for row in rows
        if (why := over(row, now) or _left(row, people.get(row.person, {})))
    }


def _left(row: repo.Record, roles: Mapping[str, Role]) -> str | None:
    return None if may_run(roles, row.project_id) else LEFT


def end(c: Connection, deps: Deps, row: repo.Record, actor: str, why: str) -> None:
    """End a connection with all that it has, and its event; once."""
    alive = (repo.CONNECTED.c.id == row.id) & repo.CONNECTED.c.ended_at.is_(None)
    if not c.execute(update(repo.CONNECTED).where(alive).values(ended_at=deps.now())).rowcount:
        return
    c.execute(delete(repo.TOKEN).where(repo.TOKEN.c.connection_id == row.id))
    deps.outbox.record(c, ClientAccessEnded(**about(row, deps, actor), why=why))
    with contextlib.suppress(UnknownTask):  # it may have been ended first
        end_task(c, deps, row.task_id, actor, why)


def replayed(c: Connection, deps: Deps, row: repo.Record, what: str) -> None:
    """The same because somebody shows what was used up: one of two has stolen it."""
    event = ClientTokenReplayed(**about(row, deps, "broker"), what=what)
    deps.outbox.record(c, event)
    end(c, deps, row, "broker", f"its {what} was used again")


def about(row: Any, deps: Deps, actor: str) -> dict[str, Any]:
    """What every event of a connection says."""
    return {
        "id": new_id("evt"),
        "at": deps.now(),
        "actor": actor,
        "project_id": row.project_id,
        "task_id": row.task_id,
        "connection_id": row.id,
        "person": row.person,
        "client": row.client,
    }


async def retire_ended(deps: Deps) -> None:
    """Tell `grants` what has ended; while it is away, the janitor goes on telling."""
    with contextlib.suppress(StyxError):
        for task_id in await deps.db.read(unretired):
            await retire(deps, task_id)
