"""A project's rules: read, replaced, tried on one call or over the last days, and suggested."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AwareDatetime, Field
from starlette.responses import Response
from styx_core.contract.grants import PolicyText, PutPolicy, ReadPolicy
from styx_core.contract.grants_policies import (
    Replayed,
    ReplayPolicy,
    SimulateCall,
    Suggested,
    SuggestRules,
    Verdict,
)
from styx_core.contract.values import Line, Name, Nonce, Proof, Words
from styx_core.errors import Invalid
from styx_core.scope import Scope

from styx_broker.auth import TheCaller, TheDeps, ThePerson, project_for
from styx_broker.deps import Deps
from styx_broker.routes_tasks import Body
from styx_broker.understanding import understood

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


class NewPolicy(Body):
    """A project's rules, and the approver's signature over them."""

    toml: str = Field(max_length=1_000_000)
    nonce: Nonce
    signature: Proof


class Draft(Body):
    """Rules to try over the past."""

    toml: str = Field(max_length=1_000_000)
    days: int = Field(30, ge=1, le=365)


@router.get("/v1/projects/{project}/policy")
async def read_policy(project: Name, deps: TheDeps, caller: TheCaller) -> PolicyText:
    """A project's rules as TOML."""
    found = await project_for(deps, caller, project)
    return await deps.bus.request(ReadPolicy(project_id=found.id))


@router.get("/v1/projects/{project}/policy.toml")
async def export_policy(project: Name, deps: TheDeps, caller: TheCaller) -> Response:
    """The same as a file."""
    said = await read_policy(project, deps, caller)
    return Response(said.toml, media_type="application/toml")


@router.put("/v1/projects/{project}/policy")
async def put_policy(
    project: Name, body: NewPolicy, deps: TheDeps, person: ThePerson
) -> PolicyText:
    """Replace a project's rules."""
    found = await project_for(deps, person, project, "owner")
    return await deps.bus.request(PutPolicy(project_id=found.id, person=person.name, **dict(body)))


@router.post("/v1/projects/{project}/policy/simulate")
async def simulate(project: Name, body: Call, deps: TheDeps, caller: TheCaller) -> Verdict:
    """What rules say about a call: the rules in force, or a draft."""
    found = await project_for(deps, caller, project)
    said = dict(body) | {"project_id": found.id, "person": body.person or caller.name}
    said |= _understood(deps, body)
    if not said["scopes"]:
        raise Invalid("command: name a command, or scopes that it would need")
    return await deps.bus.request(SimulateCall(**said))


def _understood(deps: Deps, call: Call) -> dict[str, Any]:
    """What a call needs, as the real one would be put to rules."""
    if not call.command:
        return {}
    found = understood(deps.catalog, call.command[0], call.command[1:])
    return {
        "provider": found.provider.id,
        "scopes": call.scopes or found.scopes,
        "surface": found.surface,
        "command": found.hidden,
    }


@router.post("/v1/projects/{project}/policy/replay")
async def replay(project: Name, body: Draft, deps: TheDeps, caller: TheCaller) -> Replayed:
    """What a draft would have decided differently; nothing is changed by it."""
    found = await project_for(deps, caller, project)
    return await deps.bus.request(ReplayPolicy(project_id=found.id, **dict(body)))


@router.get("/v1/projects/{project}/policy/suggestions")
async def suggestions(
    project: Name,
    deps: TheDeps,
    caller: TheCaller,
    days: Annotated[int, Query(ge=1, le=365)] = 30,
) -> Suggested:
    """Rules for what people approved again and again, no wider than that."""
    found = await project_for(deps, caller, project)
    return await deps.bus.request(SuggestRules(project_id=found.id, days=days))
