"""`list_targets`: the places that this task's project can reach."""

from typing import Literal

from pydantic import Field
from styx_core.contract.grants import ListTargets
from styx_core.contract.values import TargetView

from styx_mcp_gateway.tool import Arguments, Call, Result, Tool


class Nothing(Arguments):
    """No arguments."""


class Target(Result):
    """One target, as this task sees it."""

    id: str
    name: str
    provider: str
    env: str = Field(description="prod, staging, preview or scm")
    lock_state: Literal["unconnected", "expired", "persistent", "open", "locked"] = Field(
        description="open: this task holds a live grant; persistent: nobody needs to be asked; "
        "locked: a call will ask; expired, unconnected: your person must connect it"
    )
    scopes: list[str] = Field(description="what this task's live grants cover")


class Targets(Result):
    """All of them, by name."""

    targets: list[Target]


async def run(_arguments: Nothing, call: Call) -> Targets:
    """Ask `grants` for the project's targets as this task sees them."""
    found = await call.deps.bus.request(ListTargets(task_id=call.task.task_id))
    return Targets(targets=[_shown(view) for view in found.targets])


def _shown(view: TargetView) -> Target:
    return Target(
        id=view.id,
        name=view.name,
        provider=view.provider,
        env=view.env,
        lock_state=view.lock_state,
        scopes=[str(scope) for scope in view.scopes],
    )


TOOL = Tool(
    name="list_targets",
    title="List targets",
    description="The clouds, servers and repositories that this project can reach through Styx, "
    "and what this task may do there right now.",
    arguments=Nothing,
    result=Targets,
    per_minute=120,
    run=run,
    reads=True,
    repeatable=True,
)
