"""Questions of agents over HTTP: what waits for an answer, and answering it."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection, select, update
from styx_core.contract.broker_board import QuestionAnswered
from styx_core.contract.values import Id, Line
from styx_core.errors import AlreadyDecided, Forbidden, Invalid, UnknownQuestion
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.auth import Caller, TheCaller, TheDeps
from styx_broker.routes_tasks import Body
from styx_broker.task_mail import put
from styx_broker.task_notices import answered

router = APIRouter(tags=["questions"])

PLAN = ("approve", "reject", "edit")


class Reply(Body):
    """An answer: for a plan approve, reject or edit; for a decision one of its options."""

    answer: str = Field(min_length=1, max_length=8000)
    note: Line | None = None


class Asked(Body):
    """A question that waits, in an agent's words."""

    id: str
    task_id: str
    project_id: str
    agent: str
    person: str
    kind: str
    text: str
    options: tuple[str, ...]
    asked_at: datetime


@router.get("/v1/questions")
async def questions(deps: TheDeps, caller: TheCaller) -> list[Asked]:
    """What waits for an answer, the oldest first."""
    return await deps.db.read(lambda c: waiting(c, caller))


def waiting(c: Connection, caller: Caller) -> list[Asked]:
    """Open questions of running tasks that the caller sees."""
    query = (
        select(repo.QUESTION, repo.TASK.c.project_id, repo.TASK.c.agent, repo.TASK.c.person)
        .join(repo.TASK, repo.TASK.c.id == repo.QUESTION.c.task_id)
        .where(repo.QUESTION.c.answer.is_(None), repo.TASK.c.ended_at.is_(None))
        .order_by(repo.QUESTION.c.id)
    )
    rows = [row for row in c.execute(query) if caller.may(row.project_id)]
    return [Asked(**{name: getattr(row, name) for name in Asked.model_fields}) for row in rows]


@router.post("/v1/questions/{question_id}/answer")
async def answer(question_id: Id, body: Reply, deps: TheDeps, caller: TheCaller) -> dict[str, str]:
    """Answer an agent; the first answer is the one."""

    def save(c: Connection) -> None:
        row = c.execute(
            select(repo.QUESTION, repo.TASK.c.project_id)
            .join(repo.TASK, repo.TASK.c.id == repo.QUESTION.c.task_id)
            .where(repo.QUESTION.c.id == question_id)
        ).one_or_none()
        if row is None or not caller.may(row.project_id):
            raise UnknownQuestion(f"no question {question_id}")
        if not caller.may(row.project_id, "owner", "approver", "member"):
            raise Forbidden("an auditor only looks")
        _fits(row, body.answer)
        said = {"answer": body.answer, "note": body.note}
        unanswered = (repo.QUESTION.c.id == row.id) & repo.QUESTION.c.answer.is_(None)
        values = {**said, "answered_by": caller.name, "answered_at": deps.now()}
        if not c.execute(update(repo.QUESTION).where(unanswered).values(values)).rowcount:
            raise AlreadyDecided(f"{row.answered_by or 'somebody'} has answered this already")
        about = {"actor": caller.name, "project_id": row.project_id, "task_id": row.task_id}
        event = QuestionAnswered(
            id=new_id("evt"), at=deps.now(), **about, question_id=row.id, **said
        )
        deps.outbox.record(c, event)
        letter = answered(row, body.answer, body.note, caller.name, deps.now())
        put(c, deps, letter, event.id)

    await deps.db.write(save)
    return {"answered": question_id}


def _fits(row: repo.Record, said: str) -> None:
    """Raises `Invalid` for an answer that the question doesn't take."""
    among = PLAN if row.kind == "plan" else tuple(row.options)
    if among and said not in among:
        raise Invalid(f"answer: one of {', '.join(among)}")
