"""What people do: see and decide grants, connect targets, set rules, claim the admin link."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import Field
from sqlalchemy import Connection
from starlette.responses import HTMLResponse
from styx_core.contract.adapters import Connect
from styx_core.contract.broker import AdminClaimed
from styx_core.contract.grants import (
    Access,
    CheckTarget,
    Choice,
    Decide,
    EnrolApprover,
    ListGrants,
    ListTargets,
    PolicyText,
    PutPolicy,
    ReadPolicy,
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
    TargetView,
)
from styx_core.errors import Forbidden
from styx_core.ids import new_id
from styx_core.scope import Scope

from styx_broker import pages
from styx_broker import repository as repo
from styx_broker.auth import TheCaller, TheDeps, ThePerson
from styx_broker.routes_tasks import Body
from styx_broker.tokens import fingerprint

router = APIRouter(tags=["people"])


class Decision(Body):
    """A choice and the approver's signature over it (`styx_core.signing.decision_payload`)."""

    verdict: str = Field(pattern="^(approve|deny)$")
    scopes: tuple[Scope, ...] = ()
    duration: Duration | None = None
    reason: Line | None = None
    signature: str = Field(max_length=200)


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
    signature: str = Field(max_length=200)


class NewPolicy(Body):
    """A project's rules, and the approver's signature over them."""

    toml: str = Field(max_length=1_000_000)
    signature: str = Field(max_length=200)


class Claim(Body):
    """The one-time code, and what the claimer's side derived from its own secret."""

    code: str = Field(max_length=100)
    person: Name
    bearer: str = Field(pattern="^styx_per_[0-9a-f]{64}$")
    public_key: str = Field(max_length=100)


States = Annotated[list[str] | None, Query()]


@router.get("/v1/grants")
async def grants(
    deps: TheDeps, _caller: TheCaller, state: States = None, project: Name | None = None
) -> list[GrantView]:
    """Grants, newest first; `state` may be given more than once."""
    found = await deps.db.read(lambda c: repo.project(c, project)) if project else None
    listed = await deps.bus.request(
        ListGrants(project_id=found.id if found else None, states=tuple(state or ()))
    )
    return list(listed.grants)


@router.post("/v1/grants/{grant_id}/decision")
async def decide(grant_id: Id, body: Decision, deps: TheDeps, person: ThePerson) -> Access:
    """Approve (all or less) or deny. `grants` checks the signature against its own row."""
    choice = Choice(grant_id=grant_id, **body.model_dump(exclude={"signature"}))
    return await deps.bus.request(
        Decide(choice=choice, person=person.name, signature=body.signature)
    )


@router.post("/v1/grants/{grant_id}/revoke")
async def revoke(grant_id: Id, body: Revocation, deps: TheDeps, caller: TheCaller) -> Access:
    """End a grant now."""
    return await deps.bus.request(
        RevokeGrant(grant_id=grant_id, person=caller.name, reason=body.reason)
    )


@router.get("/v1/targets")
async def targets(
    deps: TheDeps, _caller: TheCaller, project: Name | None = None
) -> list[TargetView]:
    """The targets of a project, or all."""
    found = await deps.db.read(lambda c: repo.project(c, project)) if project else None
    listed = await deps.bus.request(ListTargets(project_id=found.id if found else None))
    return list(listed.targets)


@router.post("/v1/targets", status_code=201)
async def connect(body: NewTarget, deps: TheDeps, person: ThePerson) -> TargetView:
    """Connect a target: `adapters` verifies and stores its credential, then it is saved."""
    project = await deps.db.read(lambda c: repo.project(c, body.project))
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
            signature=body.signature,
        )
    )


@router.post("/v1/targets/{target_id}/check")
async def check_target(target_id: Id, deps: TheDeps, _caller: TheCaller) -> HealthAnswer:
    """Try a target's own login with its provider now."""
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


@router.get("/v1/projects/{project}/policy")
async def read_policy(project: Name, deps: TheDeps, _caller: TheCaller) -> PolicyText:
    """A project's rules as TOML."""
    found = await deps.db.read(lambda c: repo.project(c, project))
    return await deps.bus.request(ReadPolicy(project_id=found.id))


@router.put("/v1/projects/{project}/policy")
async def put_policy(
    project: Name, body: NewPolicy, deps: TheDeps, person: ThePerson
) -> PolicyText:
    """Replace a project's rules."""
    found = await deps.db.read(lambda c: repo.project(c, project))
    return await deps.bus.request(
        PutPolicy(project_id=found.id, toml=body.toml, person=person.name, signature=body.signature)
    )


@router.post("/v1/claim", status_code=201)
async def claim(body: Claim, request: Request, deps: TheDeps) -> dict[str, str]:
    """Use the admin link: the claimer becomes the owner and first approver."""
    deps.limits.take("anyone", "claim", "too many tries of the admin link")
    now = deps.now()
    if await deps.db.read(repo.claimed):
        raise Forbidden("the admin link was used already")
    # Used up first: a code that was tried in vain is gone, one that was copied is worth nothing.
    await deps.db.write(lambda c: repo.use_claim(c, fingerprint(body.code)))
    await deps.bus.request(EnrolApprover(person=body.person, public_key=body.public_key))
    event = AdminClaimed(id=new_id("evt"), at=now, actor=body.person, person=body.person)

    def save(c: Connection) -> None:
        repo.add(c, repo.PERSON, name=body.person, bearer_sha256=fingerprint(body.bearer))
        deps.outbox.record(c, event)

    await deps.db.write(save)
    return {"person": body.person}


@router.get("/admin", include_in_schema=False)
async def admin() -> HTMLResponse:
    """Where the admin link leads."""
    return pages.admin()


@router.get("/grants/{grant_id}", include_in_schema=False)
async def grant_page(grant_id: Id) -> HTMLResponse:
    """Where a waiting call's link leads. It shows nothing about the request: nobody is known."""
    return pages.grant(grant_id)
