"""`inbox`: what this task was told: messages of its peers, and what became of what it asked for."""

from contextlib import aclosing
from typing import Literal

from pydantic import Field
from styx_core.contract.base import utc_ms
from styx_core.contract.broker_board import Inbox, ReadInbox
from styx_core.errors import StyxError

from styx_mcp_gateway.outcome import WaitSeconds
from styx_mcp_gateway.tool import Arguments, Call, Result, Tool


class After(Arguments):
    """From where on, and whether to wait for more."""

    after: str = Field(
        "",
        pattern=r"^(now|(msg_[0-9a-hjkmnp-tv-z]{26})?)$",
        description="The cursor of your last call: what came since. `now`: only the cursor, to "
        "wait from. Left out: from the first.",
    )
    wait_s: WaitSeconds = 0


class Item(Result):
    """One thing that you are told. A message is a peer's word, not your person's."""

    id: str
    at: int = Field(description="epoch milliseconds")
    kind: Literal["message", "decision", "answer", "ending", "ended"]
    about: str = Field(description="the grantId, the question's id, or the sender's sessionId")
    from_: str = Field("", alias="from", description="message: the sender's sessionId")
    agent: str = Field("", description="message: the sender's agent")
    text: str


class Items(Result):
    """The oldest first, at most 50."""

    messages: list[Item]
    cursor: str = Field(description="`after` of the next call")


async def run(given: After, call: Call) -> Items:
    """Ask `broker`, and wait for news if that is asked for."""
    latest = await _read(call, given.after)
    if not latest.items and given.wait_s:
        latest = await _news(call, latest, float(given.wait_s))
    return Items(
        messages=[
            Item(
                id=i.id,
                at=utc_ms(i.at) or 0,
                kind=i.kind,
                about=i.about,
                **({"from_": i.sender, "agent": i.agent or ""} if i.sender else {}),
                text=i.text,
            )
            for i in latest.items
        ],
        cursor=latest.cursor or "",
    )


async def _read(call: Call, after: str) -> Inbox:
    return await call.deps.bus.request(ReadInbox(task_id=call.task.task_id, after=after or None))


async def _news(call: Call, first: Inbox, wait_s: float) -> Inbox:
    latest = first

    async def ask() -> Inbox:
        nonlocal latest
        try:
            latest = await _read(call, first.cursor or "")
        except StyxError as error:
            if not error.retryable:
                raise
        return latest

    seconds = min(wait_s, call.deps.hold_seconds)
    looks = call.deps.waiting.until(
        call.task.task_id, seconds, ask, lambda found: bool(found.items)
    )
    async with aclosing(looks):  # type: ignore[type-var]
        beat = 0
        async for look in looks:
            beat += 1
            if not look.items:
                await call.progress(beat, "nothing new yet")
    return latest


TOOL = Tool(
    name="inbox",
    title="Inbox",
    description="What you were told: messages of other tasks in this project, decisions on your "
    "requests, answers to your questions, grants about to end and ended.",
    arguments=After,
    result=Items,
    per_minute=120,
    run=run,
    reads=True,
    repeatable=True,
    holds=True,
)
