"""Rules that may come: one call tried, and a draft over the requests of the last days."""

from fastapi import APIRouter
from pydantic import AwareDatetime, Field
from styx_core.classify import classify
from styx_core.contract.grants_policies import Replayed, ReplayPolicy, SimulateCall, Verdict
from styx_core.contract.values import Line, Name, Words
from styx_core.redact import redact_argv
from styx_core.scope import Scope, ordered

from styx_broker.auth import TheCaller, TheDeps, project_for
from styx_broker.deps import Deps
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["policies"])


class Call(Body):
    """A call that might come. Without `scopes` they are what its command needs."""

    toml: str | None = Field(None, max_length=1_000_000)
    agent: Name = "agent"
    person: Name | None = None
    target: Line
    scopes: tuple[Scope, ...] = ()
    command: Words = Field((), max_length=1000)
    at: AwareDatetime | None = None


class Draft(Body):
    """Rules to try over the past."""

    toml: str = Field(max_length=1_000_000)
    days: int = Field(30, ge=1, le=365)


@router.post("/v1/projects/{project}/policy/simulate")
async def simulate(project: Name, body: Call, deps: TheDeps, caller: TheCaller) -> Verdict:
    """What rules say about a call: the rules in force, or a draft."""
    found = await project_for(deps, caller, project)
    scopes, command = _understood(deps, body)
    said = dict(body) | {"scopes": scopes, "command": command, "project_id": found.id}
    return await deps.bus.request(SimulateCall(**said | {"person": body.person or caller.name}))


def _understood(deps: Deps, call: Call) -> tuple[tuple[Scope, ...], tuple[str, ...]]:
    """What a call needs, and its words as rules see them: redacted. Raises `UnknownTool`."""
    if not call.command:
        return call.scopes, ()
    _, tool = deps.catalog.tool(call.command[0])
    scopes = call.scopes or ordered(classify(tool, call.command[1:]).scopes)
    return scopes, tuple(redact_argv(call.command, deps.catalog.shapes, tool.secrets))


@router.post("/v1/projects/{project}/policy/replay")
async def replay(project: Name, body: Draft, deps: TheDeps, caller: TheCaller) -> Replayed:
    """What a draft would have decided differently; nothing is changed by it."""
    found = await project_for(deps, caller, project)
    return await deps.bus.request(ReplayPolicy(project_id=found.id, **dict(body)))
