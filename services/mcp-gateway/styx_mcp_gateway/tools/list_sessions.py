"""`list_sessions`: the tasks of this project, the caller among them."""

from pydantic import Field
from styx_core.contract.broker_board import ListSessions

from styx_mcp_gateway.tool import Arguments, Call, Result, Tool


class Nothing(Arguments):
    """No arguments."""


class Session(Result):
    """One task."""

    session_id: str
    agent: str
    branch: str = Field("", description="left out where it has none")
    state: str = Field(description="running, or waiting for a person's answer")
    note: str = Field(description="what it last reported")
    self_: bool = Field(alias="self", description="whether this is you")
    task: str = Field(description="what it was asked to do")


class Sessions(Result):
    """All of them, the oldest first."""

    sessions: list[Session]


async def run(_arguments: Nothing, call: Call) -> Sessions:
    """Ask `broker`."""
    own = call.task.task_id
    found = (await call.deps.bus.request(ListSessions(task_id=own))).sessions
    return Sessions(
        sessions=[
            Session(
                session_id=each.task_id,
                agent=each.agent,
                **({"branch": each.branch} if each.branch else {}),
                state="waiting" if each.waits else "running",
                note=each.status,
                self_=each.task_id == own,
                task=each.name,
            )
            for each in found
        ]
    )


TOOL = Tool(
    name="list_sessions",
    title="List sessions",
    description="The tasks that run in this project now: you and your peers.",
    arguments=Nothing,
    result=Sessions,
    per_minute=120,
    run=run,
    reads=True,
    repeatable=True,
)
