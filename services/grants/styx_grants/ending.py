"""How grants end: by time, with their task, when their one command has run, or by a person."""

from datetime import datetime
from typing import ClassVar

from sqlalchemy import Connection, select
from styx_core.contract.grants_events import GrantEnded
from styx_core.ids import new_id
from styx_core.scope import Scope, ordered
from styx_core.watching import Watch

from styx_grants import repository as repo
from styx_grants.deadlines import Duration, due
from styx_grants.deps import Deps
from styx_grants.issuing import end_leases
from styx_grants.machine import State, Step, apply

WHY = {
    Step.TIME_OUT: "nobody decided within a day",
    Step.EXPIRE: "its time was over",
    Step.IDLE: "an hour went by without use",
    Step.TASK_END: "its task ended",
    Step.SPEND: "its one command has run",
}


def end(
    c: Connection, deps: Deps, row: repo.Record, step: Step, actor: str, why: str, now: datetime
) -> None:
    """Take one step out of a grant's life, with its event. Raises `IllegalStep`."""
    state = apply(State(row.state), step).state
    repo.set_grant(c, row.id, state=state, ended_at=now, end_why=why)
    target = c.execute(select(repo.TARGET.c.name).where(repo.TARGET.c.id == row.target_id)).one()
    deps.outbox.record(
        c,
        GrantEnded(
            id=new_id("evt"),
            at=now,
            actor=actor,
            project_id=row.project_id,
            task_id=row.task_id,
            grant_id=row.id,
            target=target.name,
            scopes=ordered(Scope(s) for s in row.scopes),
            command=tuple(row.command),
            state=state,
            why=why,
        ),
    )


def end_task(c: Connection, deps: Deps, task_id: str, now: datetime) -> None:
    """End every request and grant of a task, but for standing grants."""
    rows = c.execute(
        select(repo.GRANT).where(
            repo.GRANT.c.task_id == task_id,
            repo.GRANT.c.state.in_((State.PENDING, State.ACTIVE)),
        )
    )
    for row in list(rows):
        standing = row.state == State.ACTIVE and row.duration == Duration.ALWAYS
        if not standing:
            end(c, deps, row, Step.TASK_END, task_id, WHY[Step.TASK_END], now)


def sweep(c: Connection, deps: Deps, now: datetime) -> int:
    """Take every step that time has made due; returns how many."""
    query = select(repo.GRANT).where(repo.GRANT.c.state.in_((State.PENDING, State.ACTIVE)))
    taken = 0
    for row in list(c.execute(query)):
        step = due(repo.times(row), now)
        if step is not None:
            end(c, deps, row, step, "grants", WHY[step], now)
            taken += 1
    return taken


class Sweeper(Watch[Deps]):
    """Watches the clock: what is over ends, and its leases with it."""

    seconds: ClassVar[float] = 0.5

    async def once(self) -> None:
        """One look: a read finds whether anything is due, so that an idle hour writes nothing."""
        deps, now = self._deps, self._deps.now()
        open_rows = select(repo.GRANT).where(repo.GRANT.c.state.in_((State.PENDING, State.ACTIVE)))
        rows = await deps.db.read(lambda c: c.execute(open_rows).all())
        if any(due(repo.times(row), now) for row in rows):
            await deps.db.write(lambda c: sweep(c, deps, now))
        await end_leases(deps)
