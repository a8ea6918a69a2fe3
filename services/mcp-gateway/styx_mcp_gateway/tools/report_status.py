"""`report_status`: one line on the task's card."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints
from styx_core.contract.broker_board import ReportStatus

from styx_mcp_gateway.tool import Arguments, Call, Result, Text, Tool


class Status(Arguments):
    """What the task is doing."""

    status: Annotated[Text, StringConstraints(min_length=1, max_length=200)] = Field(
        description="One line, such as: Applying migration 0042 to prod"
    )


class Ok(Result):
    """It is shown."""

    ok: Literal[True]


async def run(given: Status, call: Call) -> Ok:
    """Show it on the board."""
    line = call.deps.catalog.redact(" ".join(given.status.split()))[:200]
    await call.deps.bus.request(ReportStatus(task_id=call.task.task_id, status=line))
    return Ok(ok=True)


TOOL = Tool(
    name="report_status",
    title="Report status",
    description="Set the one-line status on this task's card, for the people who look.",
    arguments=Status,
    result=Ok,
    per_minute=60,
    run=run,
    repeatable=True,
)
