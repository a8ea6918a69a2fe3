"""API keys: what a program shows to work for a person in one project.

A key never decides, and changes no rule, target or person: those need a signature that only people
can give. What it may is what its person may there at that moment, and of that only what it was made
for. One that may be an agent is the token of a task of its own, which lives as long as the key.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, select, update
from styx_core.contract.broker import ApiKeyRevoked
from styx_core.db import by
from styx_core.errors import Unauthenticated, UnknownKey
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.ending import end_task
from styx_broker.tokens import same

PREFIX: Final = "styx_key_"
MAY: Final = {
    "look": "sees what its person sees in this project",
    "run": "starts tasks and ends them, and revokes what they hold",
    "agent": "is an agent itself, over MCP and the shims, as a task of its person",
}
SEEN: Final = timedelta(minutes=1)
"""How exact the time of the last use is: not every call is worth a write."""


def live(c: Connection, sha256: str, now: datetime) -> repo.Record:
    """The live key with this hash. Raises `Unauthenticated`."""
    row = c.execute(by(repo.API_KEY.c.sha256), {"value": sha256}).one_or_none()
    if row is None or not same(row.sha256, sha256) or row.revoked_at is not None:
        raise Unauthenticated("this API key is unknown or revoked; make one under Settings")
    if row.expires_at is not None and row.expires_at <= now:
        raise Unauthenticated(f"the API key {row.name} has expired; make a new one under Settings")
    return row


async def shown(deps: Deps, sha256: str) -> repo.Record:
    """The live key that somebody shows; its use is noted. Raises `Unauthenticated`."""
    now = deps.now()
    row = await deps.db.read(lambda c: live(c, sha256, now))
    if row.used_at is None or row.used_at + SEEN <= now:
        noted = update(repo.API_KEY).where(repo.API_KEY.c.id == row.id).values(used_at=now)
        await deps.db.write(lambda c: c.execute(noted).rowcount)
    return row


def of_projects(c: Connection, projects: Sequence[str] | None) -> list[repo.Record]:
    """Keys that are not revoked, newest first, of these projects (None: all)."""
    query = select(repo.API_KEY).where(repo.API_KEY.c.revoked_at.is_(None))
    some = query if projects is None else query.where(repo.API_KEY.c.project_id.in_(projects))
    return list(c.execute(some.order_by(repo.API_KEY.c.id.desc())))


def find(c: Connection, key_id: str) -> repo.Record:
    """A key that is not revoked. Raises `UnknownKey`."""
    query = select(repo.API_KEY).where(
        repo.API_KEY.c.id == key_id, repo.API_KEY.c.revoked_at.is_(None)
    )
    row = c.execute(query).one_or_none()
    if row is None:
        raise UnknownKey(f"no API key {key_id}; Settings shows them")
    return row


def revoke(c: Connection, deps: Deps, row: repo.Record, actor: str, why: str) -> None:
    """End a key, and the task that it worked as, with their events; once."""
    now = deps.now()
    alive = (repo.API_KEY.c.id == row.id) & repo.API_KEY.c.revoked_at.is_(None)
    if not c.execute(update(repo.API_KEY).where(alive).values(revoked_at=now)).rowcount:
        return
    event = ApiKeyRevoked(
        id=new_id("evt"),
        at=now,
        actor=actor,
        project_id=row.project_id,
        task_id=row.task_id,
        key_id=row.id,
        person=row.person,
        name=row.name,
        why=why,
    )
    deps.outbox.record(c, event)
    if row.task_id is not None:
        end_task(c, deps, row.task_id, actor, why)
