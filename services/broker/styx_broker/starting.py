"""How a task starts: `grants` admits it first, so that its first call finds it known."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from styx_core.contract.broker import TaskStarted
from styx_core.contract.grants import AdmitTask
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.deps import Deps


async def start(
    deps: Deps,
    project_id: str,
    token_sha256: str,
    *,
    agent: str,
    person: str,
    name: str,
    branch: str | None = None,
    worktree: str | None = None,
    until: datetime | None = None,
    also: Callable[[Connection, str], None] | None = None,
) -> str:
    """Start a task that the holder of a token is; it ends by itself at `until`.

    `also` is kept with it or not at all.
    """
    task_id, now = new_id("tsk"), deps.now()
    about: dict[str, Any] = {"agent": agent, "person": person}
    about |= {"branch": branch, "worktree": worktree}
    await deps.bus.request(AdmitTask(task_id=task_id, project_id=project_id, **about))
    about |= {"project_id": project_id, "name": name}
    event = TaskStarted(id=new_id("evt"), at=now, actor=person, task_id=task_id, **about)
    row = {**about, "id": task_id, "token_sha256": token_sha256, "started_at": now, "until": until}

    def save(c: Connection) -> None:
        repo.add(c, repo.TASK, **row, retired=False)
        deps.outbox.record(c, event)
        if also is not None:
            also(c, task_id)

    await deps.db.write(save)
    return task_id
