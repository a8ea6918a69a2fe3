"""The board: the agents at work, and what they hold at this moment."""

from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import Response
from styx_core.contract.grants import ListGrants
from styx_core.contract.values import Role

from styx_broker import repository as repo
from styx_broker.auth import Caller, TheDeps
from styx_broker.cards import quoted
from styx_broker.deps import Deps
from styx_broker.rendering import page
from styx_broker.routes_questions import waiting
from styx_broker.viewing import TheViewer, frame

MOST_LETTERS = 5
WORKING: tuple[Role, ...] = ("owner", "approver", "member")

router = APIRouter(include_in_schema=False)


@router.get("/board")
async def board(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Tasks with their grants, and the grants of nobody in particular."""
    return page("board.html", frame(request, caller, "board") | await _board(deps, caller))


async def _board(deps: Deps, caller: Caller) -> dict[str, Any]:
    query = ListGrants(projects=caller.projects, states=("active", "pending"), limit=1000)
    grants = (await deps.bus.request(query)).grants
    running = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None)).order_by(repo.TASK.c.id)
    rows = await deps.db.read(lambda c: c.execute(running).all())
    tasks = [row for row in rows if caller.may(row.project_id)]
    asked = await deps.db.read(lambda c: waiting(c, caller))
    to_them = repo.MAIL.c.to.in_([t.id for t in tasks]) & (repo.MAIL.c.kind == "message")
    mail = select(repo.MAIL).where(to_them)
    letters = await deps.db.read(lambda c: c.execute(mail.order_by(repo.MAIL.c.id)).all())
    names = {row.id: row.name for row in await deps.db.read(repo.projects)}
    return {
        "tasks": [(task, [g for g in grants if g.task_id == task.id]) for task in tasks],
        "standing": [g for g in grants if g.duration == "always" and g.state == "active"],
        "projects": names,
        "questions": asked,
        "letters": {t.id: [m for m in letters if m.to == t.id][-MOST_LETTERS:] for t in tasks},
        "by_id": {t.id: t for t in tasks},
        "now": deps.now(),
        "quoted": quoted,
        "may_answer": {t.project_id for t in tasks if caller.may(t.project_id, *WORKING)},
        "may_end": {t.id for t in tasks if caller.may(t.project_id, *WORKING)},
    }
