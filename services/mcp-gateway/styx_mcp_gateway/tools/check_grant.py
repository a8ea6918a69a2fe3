"""`check_grant`: the outcome of a request, waiting for it while it is open."""

from styx_core.contract.grants import CheckGrant

from styx_mcp_gateway.outcome import GrantId, Outcome, WaitSeconds, decided
from styx_mcp_gateway.tool import Arguments, Call, Tool


class Which(Arguments):
    """The request that is meant."""

    grant_id: GrantId
    wait_s: WaitSeconds = 240


async def run(which: Which, call: Call) -> Outcome:
    """Look, and wait if nobody has decided."""
    access = await call.deps.bus.request(
        CheckGrant(task_id=call.task.task_id, grant_id=which.grant_id)
    )
    return await decided(call, access, which.wait_s)


TOOL = Tool(
    name="check_grant",
    title="Check a grant",
    description="The outcome of an earlier request_access: waits while it is undecided, then "
    "answers as request_access does.",
    arguments=Which,
    result=Outcome,
    per_minute=60,
    run=run,
    reads=True,
    repeatable=True,
    holds=True,
)
