"""The board: the agents at work, and what they hold at this moment."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import Response
from styx_core.contract.grants import ListGrants
from styx_core.contract.values import Id, Role
from styx_core.errors import UnknownTask

from styx_broker import repository as repo
from styx_broker.auth import Caller, TheDeps
from styx_broker.cards import quoted
from styx_broker.deps import Deps
from styx_broker.rendering import page
from styx_broker.routes_questions import waiting
from styx_broker.viewing import TheViewer, frame

MOST_LETTERS, MOST_ENDED = 5, 20
LATELY = timedelta(days=1)
WORKING: tuple[Role, ...] = ("owner", "approver", "member")

router = APIRouter(include_in_schema=False)


@router.get("/board")
async def board(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Tasks with their grants, and the grants of nobody in particular."""
    return page("board.html", frame(request, caller, "board") | await _board(deps, caller))


@router.get("/tasks/{task_id}")
async def timeline(task_id: Id, request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """What one task did and was told, from the log, while it works and after."""
    one = select(repo.TASK).where(repo.TASK.c.id == task_id)
    task = await deps.db.read(lambda c: c.execute(one).one_or_none())
    if task is None or not caller.may(task.project_id):
        raise UnknownTask(f"no task {task_id}")
    names = {row.id: row.name for row in await deps.db.read(repo.projects)}
    live = task.ended_at is None
    shown = {"task": task, "project": names[task.project_id], "live": live}
    return page("task.html", frame(request, caller, "board") | shown)


def _apart(
    tasks: Iterable[repo.Record], first: Callable[[repo.Record], bool]
) -> tuple[list[repo.Record], list[repo.Record]]:
    """Those for which `first` holds, and the others."""
    parts: tuple[list[repo.Record], list[repo.Record]] = [], []
    for task in tasks:
        parts[not first(task)].append(task)
    return parts


async def _board(deps: Deps, caller: Caller) -> dict[str, Any]:
    query = ListGrants(projects=caller.projects, states=("active", "pending"), limit=1000)
    grants = (await deps.bus.request(query)).grants
    running = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None)).order_by(repo.TASK.c.id)
    rows = await deps.db.read(lambda c: c.execute(running).all())
    tasks = [row for row in rows if caller.may(row.project_id)]
    asked = await deps.db.read(lambda c: waiting(c, caller))
    of = (repo.TASK.c.id == repo.MAIL.c.sender) & repo.MAIL.c.to.in_([t.id for t in tasks])
    mail = select(repo.MAIL, repo.TASK.c.name, repo.TASK.c.agent).where(of)
    letters = await deps.db.read(lambda c: c.execute(mail.order_by(repo.MAIL.c.id)).all())
    names = {row.id: row.name for row in await deps.db.read(repo.projects)}
    held = {t.id: [g for g in grants if g.task_id == t.id] for t in tasks}
    asking = {q.task_id for q in asked} | {g.task_id for g in grants if g.state == "pending"}
    waits, works = _apart(tasks, lambda task: task.id in asking)
    lately = repo.TASK.c.ended_at > deps.now() - LATELY
    over = select(repo.TASK).where(lately).order_by(repo.TASK.c.ended_at.desc())
    ended = [
        t for t in await deps.db.read(lambda c: c.execute(over).all()) if caller.may(t.project_id)
    ]
    return {
        "states": {"Waiting for a person": waits, "At work": works},
        "held": held,
        "ended": ended[:MOST_ENDED],
        "standing": [g for g in grants if g.duration == "always" and g.state == "active"],
        "projects": names,
        "questions": asked,
        "letters": {t.id: [m for m in letters if m.to == t.id][-MOST_LETTERS:] for t in tasks},
        "now": deps.now(),
        "quoted": quoted,
        "may_answer": {t.project_id for t in tasks if caller.may(t.project_id, *WORKING)},
        "may_end": {t.id for t in tasks if caller.may(t.project_id, *WORKING)},
    }
