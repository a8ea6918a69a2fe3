"""How tasks end: by whoever runs them, when their key ends, or when their person has left.

A task's token dies with our own row, at once. `grants` is told after that, again and again until
it knows, since what the task holds ends there: nothing outlives its task because a part was away.
"""

from sqlalchemy import Connection, select, update
from styx_core.contract.broker import TaskEnded
from styx_core.contract.grants import RetireTask
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.deps import Deps


def end_task(c: Connection, deps: Deps, task_id: str, actor: str, why: str) -> repo.Record:
    """Set a task's end, with its event. Raises `UnknownTask` for one that isn't running."""
    now = deps.now()
    row = repo.end_task(c, task_id, now)
    deps.outbox.record(
        c,
        TaskEnded(
            id=new_id("evt"),
            at=now,
            actor=actor,
            project_id=row.project_id,
            task_id=task_id,
            why=why,
        ),
    )
    return row


async def retire(deps: Deps, task_id: str) -> None:
    """Have `grants` end what an ended task holds."""
    await deps.bus.request(RetireTask(task_id=task_id), deadline=8.0)
    done = update(repo.TASK).where(repo.TASK.c.id == task_id).values(retired=True)
    await deps.db.write(lambda c: c.execute(done).rowcount)


def unretired(c: Connection) -> list[str]:
    """Tasks whose end `grants` may not know of, oldest first."""
    ended = repo.TASK.c.ended_at.is_not(None) & repo.TASK.c.retired.is_(False)
    return list(c.execute(select(repo.TASK.c.id).where(ended).order_by(repo.TASK.c.id)).scalars())
