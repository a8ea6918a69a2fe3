"""What agents say to people and to each other: status, questions, messages. Pure.

Texts are redacted where they come in. They are an agent's words, and shown as such.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from styx_core.contract.base import Command, Done, Event, Message
from styx_core.contract.values import Id

QuestionKind = Literal["plan", "decision", "question"]
ItemKind = Literal["message", "decision", "answer", "ending", "ended"]
Note = Annotated[str, StringConstraints(max_length=200)]
Paragraphs = Annotated[str, StringConstraints(min_length=1, max_length=8000)]
Option = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class ReportStatus(Command[Done], owner="broker", by=("mcp-gateway",)):
    """What a task is doing now, in one line."""

    task_id: Id
    status: Note


class Answered(Message):
    """Where a question stands; `answer` None while nobody has answered."""

    question_id: str
    kind: QuestionKind
    answer: str | None
    note: str | None


class AskUser(Command[Answered], owner="broker", by=("mcp-gateway",)):
    """A question for a task's person; the same again is the same question until it is told."""

    task_id: Id
    kind: QuestionKind
    text: Paragraphs
    options: tuple[Option, ...] = Field((), max_length=10)


class CheckQuestion(Command[Answered], owner="broker", by=("mcp-gateway",)):
    """Where a task's question stands; an answer is told by this, once."""

    task_id: Id
    question_id: Id


class SessionSeen(Message):
    """A running task, as its peers see it."""

    task_id: str
    agent: str
    name: str
    branch: str | None
    worktree: str | None
    waits: bool
    status: str


class SessionList(Message):
    """A project's running tasks, the oldest first."""

    sessions: tuple[SessionSeen, ...]


class ListSessions(Command[SessionList], owner="broker", by=("mcp-gateway",)):
    """The tasks of the caller's project, itself among them."""

    task_id: Id


class SendMessage(Command[Done], owner="broker", by=("mcp-gateway",)):
    """A word to another running task of the same project."""

    task_id: Id
    to: Id
    text: Paragraphs


class InboxItem(Message):
    """What a task is told: a peer's message, in its own words, or a notice, in Styx's."""

    id: str
    at: AwareDatetime
    kind: ItemKind
    about: str = Field(description="a grant, a question, or of a message the task that sent it")
    sender: str | None = Field(None, description="of a message: the task that sent it")
    agent: str | None = Field(None, description="of a message: the sender's agent")
    text: str


class Inbox(Message):
    """The oldest first. `cursor`: where to go on from; None while nothing was ever told."""

    items: tuple[InboxItem, ...]
    cursor: str | None


class ReadInbox(Command[Inbox], owner="broker", by=("mcp-gateway",)):
    """What a task was told, at most 50: after an item, or from the beginning.

    After `now` it is nothing: just the cursor.
    """

    task_id: Id
    after: Id | Literal["now"] | None = None


class StatusReported(Event, owner="broker"):
    """A task said what it is doing."""

    status: str


class QuestionAsked(Event, owner="broker"):
    """A task waits for its person's answer."""

    question_id: str
    kind: QuestionKind
    text: str


class QuestionAnswered(Event, owner="broker"):
    """A person answered a task."""

    question_id: str
    answer: str
    note: str | None


class MessageSent(Event, owner="broker"):
    """A task sent a word to another."""

    message_id: str
    to: str
    text: str


class TaskTold(Event, owner="broker"):
    """A notice came into a task's inbox."""

    message_id: str
    kind: ItemKind
