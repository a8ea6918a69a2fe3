"""`ask_user`: a plan to approve, a choice, or a question; waits for a person's answer."""

from contextlib import aclosing
from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from styx_core.contract.broker_board import Answered, AskUser, CheckQuestion
from styx_core.errors import StyxError, TimedOut

from styx_mcp_gateway.outcome import WaitSeconds
from styx_mcp_gateway.tool import Arguments, Call, Result, Text, Tool

Option = Annotated[Text, StringConstraints(min_length=1, max_length=200)]


class Asked(Arguments):
    """What a person is asked."""

    kind: Literal["plan", "decision", "question"] = Field(
        description="plan: approve, reject or edit it; decision: pick one of the options; "
        "question: answer in words"
    )
    text: Annotated[Text, StringConstraints(min_length=1, max_length=8000)] = Field(
        description="The plan or the question, as the person reads it."
    )
    options: list[Option] = Field(
        default_factory=list, max_length=10, description="Of a decision: what to choose from."
    )
    wait_s: WaitSeconds = 240


class Resolution(Result):
    """What the person said."""

    kind: Literal["plan", "decision", "question"]
    answer: str = Field(description="plan: approve, reject or edit; else as the person put it")
    note: str = Field("", description="a person's further word")


class Answer(Result):
    """The answer."""

    resolution: Resolution
    question_id: str = Field(description="as the inbox tells of it")


async def run(asked: Asked, call: Call) -> Answer:
    """Ask, or go on waiting for the same question's answer."""
    task, redact = call.task.task_id, call.deps.catalog.redact
    about = {"text": redact(asked.text)[:8000], "options": tuple(map(redact, asked.options))}
    said = await call.deps.bus.request(AskUser(task_id=task, kind=asked.kind, **about))
    if said.answer is None:
        said = await _answered(call, said, min(float(asked.wait_s), call.deps.hold_seconds))
    if said.answer is None:
        raise TimedOut(
            "timed out waiting for the user: nobody has answered yet, and the question stays open; "
            "ask the same again to go on waiting"
        )
    note = {"note": said.note} if said.note else {}
    return Answer(
        resolution=Resolution(kind=said.kind, answer=said.answer, **note),
        question_id=said.question_id,
    )


async def _answered(call: Call, first: Answered, seconds: float) -> Answered:
    latest = first

    async def ask() -> Answered:
        nonlocal latest
        try:
            check = CheckQuestion(task_id=call.task.task_id, question_id=first.question_id)
            latest = await call.deps.bus.request(check)
        except StyxError as error:
            if not error.retryable:
                raise
        return latest

    looks = call.deps.waiting.until(
        first.question_id, seconds, ask, lambda found: found.answer is not None
    )
    async with aclosing(looks):  # type: ignore[type-var]
        beat = 0
        async for look in looks:
            beat += 1
            if look.answer is None:
                await call.progress(beat, "the question waits for a person on the board")
    return latest


TOOL = Tool(
    name="ask_user",
    title="Ask your person",
    description="Ask the person a question, offer a choice, or have a plan approved, and wait for "
    "the answer. If it times out, the question stays open: the same call goes on waiting, and an "
    "answer given meanwhile is there.",
    arguments=Asked,
    result=Answer,
    per_minute=10,
    run=run,
    holds=True,
)
