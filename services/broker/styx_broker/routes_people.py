"""What people do: see and decide grants, connect targets and set rules."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from styx_core.contract.adapters import Connect
from styx_core.contract.grants import (
    Access,
    CheckTarget,
    Choice,
    Decide,
    ExtendGrant,
    ListGrants,
    ListTargets,
    Offer,
    RevokeGrant,
    SaveTarget,
)
from styx_core.contract.values import (
    Duration,
    Env,
    GrantView,
    HealthAnswer,
    Id,
    Line,
    Name,
    Nonce,
    Proof,
    TargetView,
)
from styx_core.errors import Invalid, UnknownGrant, UnknownTarget
from styx_core.scope import Scope

from styx_broker.auth import Caller, TheCaller, TheDeps, ThePerson, TheSigner, project_for
from styx_broker.deps import Deps
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["people"])


class Decision(Body):
    """A choice and the approver's signature over it (`styx_core.signing.decision_payload`)."""

    verdict: str = Field(pattern="^(approve|deny)$")
    scopes: tuple[Scope, ...] = ()
    duration: Duration | None = None
    reason: Line | None = None
    offer: Offer | None = None
    signature: Proof


class Extension(Body):
    """The approver's signature over `styx_core.signing.extend_payload`."""

    signature: Proof


class Revocation(Body):
    """Why a grant ends now."""

    reason: Line | None = None


class NewTarget(Body):
    """A target to connect; `box` holds its secret, sealed to the adapters' key."""

    id: Id
    project: Name
    name: Name
    provider: Name
    env: Env
    method: Name
    config: dict[str, str] = Field(default_factory=dict)
    box: str | None = Field(None, max_length=100_000)
    nonce: Nonce
    signature: Proof


States = Annotated[list[str] | None, Query()]


@router.get("/v1/grants")
async def grants(
    deps: TheDeps, caller: TheCaller, state: States = None, project: Name | None = None
) -> list[GrantView]:
    """Grants, newest first; `state` may be given more than once."""
    projects = await _projects(deps, caller, project)
    listed = await deps.bus.request(ListGrants(projects=projects, states=tuple(state or ())))
    return list(listed.grants)


async def _projects(deps: Deps, caller: Caller, named: str | None) -> tuple[str, ...] | None:
    """The projects that a caller's question is about; None for all there are."""
    return ((await project_for(deps, caller, named)).id,) if named else caller.projects


@router.post("/v1/grants/{grant_id}/decision")
async def decide(grant_id: Id, body: Decision, deps: TheDeps, person: TheSigner) -> Access:
    """Approve (all or less) or deny. `grants` checks the signature against its own row."""
    said = {name: value for name, value in dict(body).items() if name != "signature"}
    choice = Choice(grant_id=grant_id, **said)
    decided = await deps.bus.request(
        Decide(choice=choice, person=person.name, signature=body.signature)
    )
    deps.waiting.wake(grant_id)
    return decided


@router.post("/v1/grants/{grant_id}/extend")
async def extend(grant_id: Id, body: Extension, deps: TheDeps, person: TheSigner) -> Access:
    """Let a live grant go on for as long again, once. `grants` checks the signature."""
    return await deps.bus.request(
        ExtendGrant(grant_id=grant_id, person=person.name, signature=body.signature)
    )


@router.post("/v1/grants/{grant_id}/revoke")
async def revoke(grant_id: Id, body: Revocation, deps: TheDeps, caller: TheCaller) -> Access:
    """End a grant now."""
    if caller.key is not None:  # `grants` knows the person, who may have more projects
        theirs = ListGrants(projects=caller.projects, grant_id=grant_id)
        if not (await deps.bus.request(theirs)).grants:
            raise UnknownGrant(f"no grant {grant_id} that this key may see")
    return await deps.bus.request(
        RevokeGrant(grant_id=grant_id, person=caller.name, reason=body.reason)
    )


@router.get("/v1/targets")
async def targets(
    deps: TheDeps, caller: TheCaller, project: Name | None = None
) -> list[TargetView]:
    """The targets of a project, or all that the caller sees."""
    listed = await deps.bus.request(ListTargets(projects=await _projects(deps, caller, project)))
    return list(listed.targets)


@router.post("/v1/targets", status_code=201)
async def connect(body: NewTarget, deps: TheDeps, person: ThePerson) -> TargetView:
    """Connect a target: `adapters` verifies and stores its credential, then it is saved."""
    project = await project_for(deps, person, body.project, "owner")
    known = (await deps.bus.request(ListTargets())).targets
    if any(t.id == body.id and t.project_id != project.id for t in known):
        raise Invalid(f"id: {body.id} is a target of another project; leave it out of this one")
    made = await deps.bus.request(
        Connect(
            target_id=body.id,
            provider=body.provider,
            method=body.method,
            config=body.config,
            box=body.box,
        )
    )
    return await deps.bus.request(
        SaveTarget(
            target_id=body.id,
            project_id=project.id,
            name=body.name,
            provider=body.provider,
            env=body.env,
            config=made.config,
            label=made.label,
            credential_ref=made.credential_ref,
            person=person.name,
            nonce=body.nonce,
            signature=body.signature,
        )
    )


@router.post("/v1/targets/{target_id}/check")
async def check_target(target_id: Id, deps: TheDeps, caller: TheCaller) -> HealthAnswer:
    """Try a target's own login with its provider now."""
    listed = await deps.bus.request(ListTargets(projects=caller.projects))
    if target_id not in {target.id for target in listed.targets}:
        raise UnknownTarget(f"no target {target_id}; `styx targets` shows them")
    return await deps.bus.request(CheckTarget(target_id=target_id))


@router.get("/v1/catalog")
async def catalog(deps: TheDeps, _caller: TheCaller) -> dict[str, object]:
    """What can be connected and how; the key that secrets are sealed to."""
    return {
        "sealing_key": deps.catalog.sealing_key,
        "public": deps.catalog.public,
        "issuer": deps.settings.public_url,
        "disabled": deps.catalog.disabled,
        "providers": {
            p.id: {
                "label": p.label,
                "tools": [t.name for t in p.tools],
                "scopes": list(p.scopes),
                "deploys": [vars(d) for d in p.deploys],
                "methods": {
                    m.name: {
                        "label": m.label,
                        "fields": [vars(f) for f in m.fields],
                        "prepare": m.prepare,
                    }
                    for m in p.methods
                },
            }
            for p in deps.catalog.providers.values()
        },
    }
