"""What a task's own side notices and puts on the record: a tool called past its shim."""

from fastapi import APIRouter
from starlette.responses import Response
from styx_core.contract.broker import ToolBypassed
from styx_core.contract.values import Name
from styx_core.ids import new_id

from styx_broker.auth import TheAgent, TheDeps
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["calls"])


class Bypass(Body):
    """A wrapped tool that ran without its shim."""

    tool: Name


@router.post("/v1/bypasses", status_code=204)
async def bypassed(body: Bypass, deps: TheDeps, agent: TheAgent) -> Response:
    """Record that this task's agent ran a wrapped tool by its full path."""
    deps.limits.take(agent.task.id, "exec", "too many calls")
    _, tool = deps.catalog.tool(body.tool)
    event = ToolBypassed(
        id=new_id("evt"),
        at=deps.now(),
        actor=agent.task.id,
        project_id=agent.task.project_id,
        task_id=agent.task.id,
        tool=tool.name,
    )
    await deps.db.write(lambda c: deps.outbox.record(c, event))
    return Response(status_code=204)
