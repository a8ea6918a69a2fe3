"""Where a person lets an OAuth client in, or not (RFC 6749, section 4.1).

Anybody can register a client, so nothing here leads a browser anywhere by itself: a request that
can't be taken gets a page, from which the person goes back if they want to (RFC 9700, 4.11.2).
"""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response
from styx_core.contract.values import Id
from styx_core.errors import Invalid

from styx_broker import oauth, oauth_clients, oauth_codes
from styx_broker import repository as repo
from styx_broker.auth import Caller, TheDeps, ThePerson, deps_of, project_for
from styx_broker.connected import RUNNING
from styx_broker.oauth import Asked, Refused
from styx_broker.rendering import page
from styx_broker.routes_tasks import Body
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)

REFUSED = 400


class Consent(Body):
    """What the person says: yes, in one of their projects; or no."""

    project: Id | None = None
    approve: bool


async def asked(request: Request) -> Asked:
    """The request, of a known client with a known way back. Raises `Invalid`, for a page."""
    deps = deps_of(request)
    try:
        said = oauth.once(request.url.query)
        client_id = oauth.needed(said, "client_id")
        uri = oauth.way_back(oauth.needed(said, "redirect_uri"))
        client = await deps.db.read(lambda c: oauth_clients.find(c, client_id))
        state = said.get("state")
        if state is not None and len(state) > oauth.LONGEST_STATE:
            raise Refused("invalid_request", f"state: over {oauth.LONGEST_STATE} letters")
    except Refused as refused:
        raise Invalid(f"this client's request can't be taken: {refused.detail}") from None
    if not oauth_clients.goes_back(client, uri):
        raise Invalid("redirect_uri: the client did not register this address; nothing was done")
    return Asked(client_id, client.name, uri, state, said)


TheAsked = Annotated[Asked, Depends(asked)]


@router.get("/oauth/authorize")
async def show(request: Request, deps: TheDeps, caller: TheViewer, wanted: TheAsked) -> Response:
    """Who asks for what, and the choice."""
    shown: dict[str, Any] = {"client": wanted.client, "refused": None, "back": ""}
    shown |= {"place": oauth.place_of(wanted.redirect_uri), "projects": []}
    try:
        oauth.challenge_of(wanted.said, deps.settings.public_url)
        shown["projects"] = await _projects(request, caller)
    except Refused as refused:
        about = {"error": refused.error, "error_description": refused.detail}
        shown["back"] = wanted.answer(deps.settings.public_url, **about)
        shown["refused"] = refused.detail
    status = 200 if shown["refused"] is None else REFUSED
    return page("consent.html", frame(request, caller, "") | shown, status)


@router.post("/oauth/authorize")
async def decide(
    body: Consent, deps: TheDeps, person: ThePerson, wanted: TheAsked
) -> dict[str, str]:
    """Where the browser goes on to, with a code or a no."""
    address = deps.settings.public_url
    challenge = oauth.challenge_of(wanted.said, address)
    if not body.approve:
        told = {"error": "access_denied", "error_description": "the person said no"}
        return {"location": wanted.answer(address, **told)}
    if body.project is None:
        raise Invalid("project: choose one of yours")
    project = await project_for(deps, person, body.project, *RUNNING)
    now = deps.now()
    code = await deps.db.write(
        lambda c: oauth_codes.give(c, wanted, challenge, person.name, project.id, now)
    )
    return {"location": wanted.answer(address, code=code)}


async def _projects(request: Request, caller: Caller) -> list[repo.Record]:
    """Where this person may run agents."""
    rows = await deps_of(request).db.read(lambda c: repo.projects(c, caller.projects))
    return [row for row in rows if caller.may(row.id, *RUNNING)]
