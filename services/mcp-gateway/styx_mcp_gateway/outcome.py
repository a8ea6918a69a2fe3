"""Where a request stands, as the tools show it, and the wait for its decision.

Waiting never lies: who isn't answered in time is `pending`, whatever happened to the services
meanwhile, and the request stays open.
"""

from contextlib import aclosing
from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from styx_core.contract.base import utc_ms
from styx_core.contract.grants import Access, CheckGrant
from styx_core.errors import GrantOver, StyxError

from styx_mcp_gateway.deps import LONGEST_HOLD
from styx_mcp_gateway.tool import Call, Result

WaitSeconds = Annotated[
    int,
    Field(
        ge=0,
        le=LONGEST_HOLD,
        alias="wait_s",
        description=f"Longest wait for a decision, in seconds (at most {LONGEST_HOLD}). Leave it "
        "out unless your client gives up sooner.",
    ),
]
GrantId = Annotated[
    str,
    Field(
        pattern=r"^grt_[0-9a-hjkmnp-tv-z]{26}$",
        alias="grantId",
        description="As request_access returned it.",
    ),
]


class Instead(Result):
    """A request that would be granted at once."""

    target: str
    scopes: list[str]
    duration: str


class Understood(Result):
    """What a named command would do."""

    scopes: list[str]
    why: str


class Outcome(Result):
    """What became of a request."""

    status: Literal["active", "denied", "pending"]
    grant_id: str
    scope: str = Field("", description="active: the granted scopes, separated by blanks")
    expires_at: int | None = Field(
        None, description="active: epoch milliseconds; null for a grant without end"
    )
    decided_by: str = Field(
        "", description="active: user, policy, target-policy or persistent-grant"
    )
    why: str = Field("", description="denied: the reason")
    instead: Instead | SkipJsonSchema[None] = Field(
        None, description="denied: what request_access would get you at once, asked with just this"
    )
    queue_position: int = Field(0, description="pending: 1 is decided next")
    understood: Understood | SkipJsonSchema[None] = Field(
        None, description="what the named command would do"
    )


def shown(access: Access) -> Outcome:
    """The outcome of a request that hasn't ended. Raises `GrantOver` for one that has."""
    if access.status == "active":
        return Outcome(
            status="active",
            grant_id=access.grant_id,
            scope=" ".join(access.scopes),
            expires_at=utc_ms(access.expires_at),
            decided_by=access.decided_by or "policy",
        )
    if access.status == "denied":
        denied = Outcome(status="denied", grant_id=access.grant_id, why=access.why)
        if access.instead is None:
            return denied
        instead = Instead(**access.instead.model_dump(mode="json"))
        return denied.model_copy(update={"instead": instead})
    if access.status == "ended":
        raise GrantOver(
            f"the grant on {access.target} has ended ({access.why}); if you still need it, ask "
            "again with request_access"
        )
    return Outcome(
        status="pending", grant_id=access.grant_id, queue_position=access.queue_position or 1
    )


async def decided(call: Call, access: Access, wait_s: int) -> Outcome:
    """Wait for a pending request's decision, telling the client how it stands meanwhile."""
    if access.status != "pending":
        return shown(access)
    latest = access
    seconds = min(float(wait_s), call.deps.hold_seconds)

    async def ask() -> Access:
        nonlocal latest
        try:
            latest = await call.deps.bus.request(
                CheckGrant(task_id=call.task.task_id, grant_id=access.grant_id)
            )
        except StyxError as error:
            if not error.retryable:
                raise
        return latest

    looks = call.deps.waiting.until(access.grant_id, seconds, ask, lambda a: a.status != "pending")
    async with aclosing(looks):  # type: ignore[type-var]
        beat = 0
        async for look in looks:
            beat += 1
            if look.status == "pending":
                await call.progress(beat, _waits(look, call.deps.public_url))
    return shown(latest)


def _waits(access: Access, public_url: str) -> str:
    place = f", number {access.queue_position} in the queue" if access.queue_position else ""
    where = f"; approve it at {public_url}/grants/{access.grant_id}" if public_url else ""
    return f"{', '.join(access.scopes)} on {access.target} waits for a person{place}{where}"
