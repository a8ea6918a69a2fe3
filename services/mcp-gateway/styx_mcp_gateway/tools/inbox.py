"""`inbox`: what other tasks sent to this one."""

from pydantic import Field
from styx_core.contract.base import utc_ms
from styx_core.contract.broker_board import ReadInbox

from styx_mcp_gateway.tool import Arguments, Call, Result, Tool


class After(Arguments):
    """From where on."""

    after: str = Field(
        "",
        pattern=r"^(msg_[0-9a-hjkmnp-tv-z]{26})?$",
        description="The id of the last message that you have read; left out, from the first.",
    )


class Item(Result):
    """One message, from a peer and not from your person."""

    id: str
    at: int = Field(description="epoch milliseconds")
    from_: str = Field(alias="from", description="the sender's sessionId")
    agent: str
    text: str


class Items(Result):
    """The oldest first, at most 50."""

    messages: list[Item]


async def run(after: After, call: Call) -> Items:
    """Ask `broker`."""
    found = await call.deps.bus.request(
        ReadInbox(task_id=call.task.task_id, after=after.after or None)
    )
    return Items(
        messages=[
            Item(id=i.id, at=utc_ms(i.at) or 0, from_=i.sender, agent=i.agent, text=i.text)
            for i in found.items
        ]
    )


TOOL = Tool(
    name="inbox",
    title="Inbox",
    description="Messages that other tasks of this project sent to you.",
    arguments=After,
    result=Items,
    per_minute=120,
    run=run,
    reads=True,
    repeatable=True,
)
