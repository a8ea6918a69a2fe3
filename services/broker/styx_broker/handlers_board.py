"""The commands by which agents speak to people and to each other."""

from datetime import timedelta

from sqlalchemy import Connection, or_, select, update
from styx_core.contract.base import Done
from styx_core.contract.broker_board import (
    Answered,
    AskUser,
    CheckQuestion,
    Inbox,
    InboxItem,
    ListSessions,
    MessageSent,
    QuestionAsked,
    ReadInbox,
    ReportStatus,
    SendMessage,
    SessionList,
    SessionSeen,
    StatusReported,
)
from styx_core.errors import Invalid, UnknownQuestion, UnknownTask
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.task_mail import put
from styx_broker.task_notices import Letter

MOST_ITEMS = 50
LOST_ON_ITS_WAY = timedelta(minutes=1)
"""How long after its answer was told the same question gets it again, and isn't asked anew."""


def _task(c: Connection, task_id: str) -> repo.Record:
    """A running task. Raises `UnknownTask`."""
    running = (repo.TASK.c.id == task_id) & repo.TASK.c.ended_at.is_(None)
    row = c.execute(select(repo.TASK).where(running)).one_or_none()
    if row is None:
        raise UnknownTask(f"no running task {task_id[:40]!r} in this project")
    return row


def _event(deps: Deps, task: repo.Record) -> dict[str, object]:
    about = {"actor": task.id, "project_id": task.project_id, "task_id": task.id}
    return {"id": new_id("evt"), "at": deps.now(), **about}


async def report_status(command: ReportStatus, deps: Deps) -> Done:
    """Keep the line, if it is another."""

    def save(c: Connection) -> None:
        task = _task(c, command.task_id)
        if task.status != command.status:
            new = update(repo.TASK).where(repo.TASK.c.id == task.id)
            c.execute(new.values(status=command.status))
            deps.outbox.record(c, StatusReported(**_event(deps, task), status=command.status))

    await deps.db.write(save)
    return Done()


async def ask_user(command: AskUser, deps: Deps) -> Answered:
    """Open a question, or find the same one again: open, or answered and not told yet.

    One that was told just now is told again: it may have been lost on its way.
    """
    if (command.kind == "decision") != bool(command.options):
        raise Invalid("options: a decision has some to choose from, and nothing else has")

    def save(c: Connection) -> repo.Record:
        task = _task(c, command.task_id)
        told_at = repo.QUESTION.c.told_at
        known = select(repo.QUESTION).where(
            repo.QUESTION.c.task_id == task.id,
            repo.QUESTION.c.kind == command.kind,
            repo.QUESTION.c.text == command.text,
            or_(told_at.is_(None), told_at > deps.now() - LOST_ON_ITS_WAY),
        )
        same = [row for row in c.execute(known) if tuple(row.options) == command.options]
        if same:
            return same[0]
        about = {"kind": command.kind, "text": command.text}
        question_id = new_id("qst")
        row = {"task_id": task.id, "options": list(command.options), "asked_at": deps.now()}
        repo.add(c, repo.QUESTION, id=question_id, **row, **about)
        event = QuestionAsked(**_event(deps, task), question_id=question_id, **about)
        deps.outbox.record(c, event)
        return _question(c, task.id, question_id)

    row = await deps.db.write(save)
    return await check_question(CheckQuestion(task_id=row.task_id, question_id=row.id), deps)


def _question(c: Connection, task_id: str, question_id: str) -> repo.Record:
    """A task's own question. Raises `UnknownQuestion`."""
    row = c.execute(
        select(repo.QUESTION).where(
            repo.QUESTION.c.id == question_id, repo.QUESTION.c.task_id == task_id
        )
    ).one_or_none()
    if row is None:
        raise UnknownQuestion(f"no question {question_id} of this task")
    return row


async def check_question(command: CheckQuestion, deps: Deps) -> Answered:
    """Where it stands; an answer counts as told from here on."""
    row = await deps.db.read(lambda c: _question(c, command.task_id, command.question_id))
    if row.answer is not None and row.told_at is None:
        told = update(repo.QUESTION).where(repo.QUESTION.c.id == row.id).values(told_at=deps.now())
        await deps.db.write(lambda c: c.execute(told).rowcount)
    return Answered(question_id=row.id, kind=row.kind, answer=row.answer, note=row.note)


async def list_sessions(command: ListSessions, deps: Deps) -> SessionList:
    """The running tasks of the caller's project."""

    def find(c: Connection) -> tuple[list[repo.Record], set[str]]:
        own = _task(c, command.task_id)
        here = (repo.TASK.c.project_id == own.project_id) & repo.TASK.c.ended_at.is_(None)
        open_ones = select(repo.QUESTION.c.task_id).where(repo.QUESTION.c.answer.is_(None))
        rows = c.execute(select(repo.TASK).where(here).order_by(repo.TASK.c.id))
        return list(rows), set(c.execute(open_ones).scalars())

    rows, asking = await deps.db.read(find)
    shown = ("agent", "name", "branch", "worktree", "status")
    return SessionList(
        sessions=tuple(
            SessionSeen(task_id=r.id, waits=r.id in asking, **{n: getattr(r, n) for n in shown})
            for r in rows
        )
    )


async def send_message(command: SendMessage, deps: Deps) -> Done:
    """Put a word into another task's inbox."""
    if command.to == command.task_id:
        raise Invalid("to: this is the task itself; name another one of list_sessions")

    def save(c: Connection) -> None:
        task, to = _task(c, command.task_id), _task(c, command.to)
        if to.project_id != task.project_id:
            raise UnknownTask(f"no running task {command.to!r} in this project")
        about = _event(deps, task)
        letter = Letter(to.id, "message", command.text, task.id, deps.now())
        made = put(c, deps, letter, str(about["id"]), sender=task.id)
        if made is not None:
            said = {"message_id": made, "to": to.id, "text": command.text}
            deps.outbox.record(c, MessageSent(**about, **said))

    await deps.db.write(save)
    return Done()


async def read_inbox(command: ReadInbox, deps: Deps) -> Inbox:
    """What a task was told."""
    return await deps.db.read(lambda c: _read(c, command))


def _read(c: Connection, command: ReadInbox) -> Inbox:
    task, mail = _task(c, command.task_id), repo.MAIL.c
    told = (mail.to == task.id) & mail.number.is_not(None)
    if command.after == "now":
        newest = select(mail.id).where(told).order_by(mail.number.desc()).limit(1)
        return Inbox(items=(), cursor=c.execute(newest).scalar_one_or_none())
    if command.after is not None:
        place = c.execute(select(mail.number).where(told, mail.id == command.after)).scalar()
        if place is None:
            raise Invalid(f"after: no item {command.after} in this inbox; leave it out to begin")
        told &= mail.number > place
    sender = repo.TASK.c.id == mail.sender
    query = select(repo.MAIL, repo.TASK.c.agent).outerjoin(repo.TASK, sender).where(told)
    rows = list(c.execute(query.order_by(mail.number).limit(MOST_ITEMS)))
    shown = ("id", "at", "kind", "about", "sender", "agent", "text")
    items = tuple(InboxItem(**{n: getattr(r, n) for n in shown}) for r in rows)
    return Inbox(items=items, cursor=rows[-1].id if rows else command.after)
