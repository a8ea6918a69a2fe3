"""A task's inbox, written: each event once, and in an order that no reader can fall behind.

An item's number is given under a lock on its task, so numbers appear in their own order, whatever
the clocks of several replicas say: who has read up to one has missed nothing before it.
"""

from datetime import datetime
from functools import partial
from typing import ClassVar

from sqlalchemy import Connection, delete, func, select, update
from styx_core.contract.broker_board import TaskTold
from styx_core.contract.grants import ListGrants
from styx_core.ids import new_id
from styx_core.watching import Watch

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.notices import NUDGE
from styx_broker.task_notices import Letter

MAIL = repo.MAIL.c


def put(
    c: Connection, deps: Deps, letter: Letter, event_id: str, sender: str | None = None
) -> str | None:
    """Tell a running task, and say so on the stream; returns the item's id.

    None for a task that isn't running, and for an event that it was told of already.
    """
    to = letter.to
    task = _locked(c, to)
    known = (MAIL.to == to, MAIL.event_id == event_id, MAIL.kind == letter.kind)
    if task is None or c.execute(select(MAIL.id).where(*known)).first() is not None:
        return None
    made, waits = new_id("msg"), letter.due_at is not None
    repo.add(
        c,
        repo.MAIL,
        id=made,
        number=None if waits else _next(c, to),
        sender=sender,
        event_id=event_id,
        **letter._asdict(),
    )
    if not waits and sender is None:
        _say(c, deps, task, made, letter)
    return made


def _locked(c: Connection, task_id: str) -> repo.Record | None:
    running = (repo.TASK.c.id == task_id) & repo.TASK.c.ended_at.is_(None)
    return c.execute(select(repo.TASK).where(running).with_for_update()).one_or_none()


def _next(c: Connection, to: str) -> int:
    last = c.execute(select(func.max(MAIL.number)).where(MAIL.to == to)).scalar_one()
    return (last or 0) + 1


def _say(
    c: Connection, deps: Deps, task: repo.Record, made: str, item: repo.Record | Letter
) -> None:
    about = {"project_id": task.project_id, "task_id": task.id}
    about |= {"grant_id": item.about} if item.about.startswith("grt_") else {}
    told = TaskTold(
        id=new_id("evt"), at=deps.now(), actor="broker", **about, message_id=made, kind=item.kind
    )
    deps.outbox.record(c, told)


class Nudger(Watch[Deps]):
    """Tells a task that a grant is about to end, if by then it still is."""

    seconds: ClassVar[float] = 1.0

    async def once(self) -> None:
        """Everything that is due now."""
        deps = self._deps
        waiting = MAIL.number.is_(None) & (MAIL.due_at <= deps.now())
        for row in await deps.db.read(lambda c: list(c.execute(select(repo.MAIL).where(waiting)))):
            soon = await _ends_soon(deps, row.about, deps.now())
            await deps.db.write(partial(_settle, deps=deps, row=row, soon=soon))


async def _ends_soon(deps: Deps, grant_id: str, now: datetime) -> bool:
    found = (await deps.bus.request(ListGrants(grant_id=grant_id))).grants
    return any(
        g.state == "active" and g.expires_at is not None and g.expires_at <= now + NUDGE
        for g in found
    )


def _settle(c: Connection, deps: Deps, row: repo.Record, soon: bool) -> int:
    """Tell it, or forget it: of a grant that was extended another letter waits."""
    task = _locked(c, row.to)
    still = (MAIL.id == row.id) & MAIL.number.is_(None)
    if task is None or not soon:
        return c.execute(delete(repo.MAIL).where(still)).rowcount
    given = update(repo.MAIL).where(still).values(number=_next(c, row.to), at=deps.now())
    if c.execute(given).rowcount:
        _say(c, deps, task, row.id, row)
    return 1
