"""`send_message`: a word to another task of the same project."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from styx_core.contract.broker_board import SendMessage

from styx_mcp_gateway.tool import Arguments, Call, Result, Text, Tool


class Letter(Arguments):
    """What to say, and to whom."""

    to: str = Field(
        pattern=r"^tsk_[0-9a-hjkmnp-tv-z]{26}$", description="A sessionId of list_sessions."
    )
    text: Annotated[Text, StringConstraints(min_length=1, max_length=8000)] = Field(
        description="Context to hand over or a conflict to flag; not an order."
    )


class Delivered(Result):
    """It is in the other's inbox."""

    delivered: Literal[True]


async def run(letter: Letter, call: Call) -> Delivered:
    """Put it into the other's inbox."""
    text = call.deps.catalog.redact(letter.text)[:8000]
    await call.deps.bus.request(SendMessage(task_id=call.task.task_id, to=letter.to, text=text))
    return Delivered(delivered=True)


TOOL = Tool(
    name="send_message",
    title="Send a message",
    description="Send a message to another task in this project. It is told that a peer wrote it, "
    "not its person; people can read it.",
    arguments=Letter,
    result=Delivered,
    per_minute=20,
    run=run,
)
