"""OAuth's endpoints for programs: metadata, registration, tokens, revocation.

They are described by their own metadata instead of the OpenAPI, and answer errors as OAuth's
clients read them.
"""

import json
from typing import Any, Final

from fastapi import APIRouter, Request
from sqlalchemy import Connection, delete
from starlette.responses import JSONResponse, Response
from styx_core.contract.broker import ClientConnected
from styx_core.contract.grants_people import GetMembership
from styx_core.ids import new_id
from styx_core.oauth_places import RESOURCE_METADATA, SERVER_METADATA

from styx_broker import connected, oauth, oauth_clients, oauth_codes, oauth_tokens
from styx_broker import repository as repo
from styx_broker.auth import TheDeps
from styx_broker.deps import Deps
from styx_broker.oauth import Refused
from styx_broker.starting import start
from styx_broker.tokens import fingerprint, new_token

router = APIRouter(include_in_schema=False)

FORM: Final = "application/x-www-form-urlencoded"
MOST_BYTES: Final = 16 * 1024
NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
UNKNOWN_CODE: Final = "code: unknown, used, over, or not this client's; connect again"


@router.get(SERVER_METADATA)
async def server(deps: TheDeps) -> dict[str, Any]:
    """What the authorization server says of itself."""
    return oauth.server_metadata(deps.settings.public_url)


@router.get(RESOURCE_METADATA)
async def resource(deps: TheDeps) -> dict[str, Any]:
    """What `/mcp` says of itself. Here, since all but `/mcp` and `/audit/` is the broker's."""
    return oauth.resource_metadata(deps.settings.public_url)


@router.post("/oauth/register")
async def register(request: Request, deps: TheDeps) -> Response:
    """A client makes itself known (RFC 7591, section 3)."""
    deps.limits.take(_who(request), "register", "too many registrations")
    try:
        said = json.loads(await _body(request))
    except (ValueError, RecursionError):
        raise Refused("invalid_client_metadata", "the body is not JSON") from None
    wanted, now = oauth.registration(said), deps.now()
    made = await deps.db.write(lambda c: oauth_clients.register(c, wanted, now))
    return JSONResponse(made, 201, NO_STORE)


@router.post("/oauth/token")
async def token(request: Request, deps: TheDeps) -> Response:
    """A code or a refresh token becomes tokens (RFC 6749, sections 4.1.3 and 6)."""
    said = await _form(request, deps)
    client_id, kind = oauth.needed(said, "client_id"), oauth.needed(said, "grant_type")
    if kind not in ("authorization_code", "refresh_token"):
        raise Refused("unsupported_grant_type", "grant_type: authorization_code or refresh_token")
    await deps.db.read(lambda c: oauth_clients.find(c, client_id))
    oauth.check_resource(said, deps.settings.public_url)
    made = await (_redeemed if kind == "authorization_code" else _refreshed)(deps, said, client_id)
    return JSONResponse(made, 200, NO_STORE)


@router.post("/oauth/revoke")
async def revoke(request: Request, deps: TheDeps) -> Response:
    """A client signs out (RFC 7009): its refresh token ends all, an access token only itself."""
    said = await _form(request, deps)
    client_id, shown = oauth.needed(said, "client_id"), oauth.needed(said, "token")

    def save(c: Connection) -> None:
        row = oauth_tokens.find(c, fingerprint(shown))
        standing = None if row is None else connected.find(c, row.connection_id)
        if row is None or standing is None or standing.client_id != client_id:
            return
        if row.kind == "access":
            c.execute(delete(repo.TOKEN).where(repo.TOKEN.c.sha256 == row.sha256))
        else:
            connected.end(c, deps, standing, standing.person, "the client signed out")

    await deps.db.write(save)
    await connected.retire_ended(deps)
    return Response(status_code=200, headers=NO_STORE)


async def _redeemed(deps: Deps, said: dict[str, str], client_id: str) -> dict[str, Any]:
    code, verifier = oauth.needed(said, "code"), oauth.needed(said, "code_verifier")
    row = await deps.db.read(lambda c: oauth_codes.find(c, fingerprint(code)))
    if row is None or row.client_id != client_id:
        raise Refused("invalid_grant", UNKNOWN_CODE)
    connection_id = new_id("con")
    if row.connection_id is None:
        _check_code(deps, row, said, verifier)
    if not await deps.db.write(lambda c: oauth_codes.use(c, row, connection_id)):
        await deps.db.write(lambda c: oauth_codes.replay(c, deps, row))
        await connected.retire_ended(deps)
        raise Refused("invalid_grant", UNKNOWN_CODE)
    return await _connected(deps, row, connection_id)


def _check_code(deps: Deps, row: repo.Record, said: dict[str, str], verifier: str) -> None:
    if row.expires_at <= deps.now():
        raise Refused("invalid_grant", UNKNOWN_CODE)
    if said.get("redirect_uri", row.redirect_uri) != row.redirect_uri:
        raise Refused("invalid_grant", "redirect_uri: not the one that the code was sent to")
    if not oauth.proves(verifier, row.challenge):
        raise Refused("invalid_grant", "code_verifier: not of the challenge that was sent")


async def _connected(deps: Deps, code: repo.Record, connection_id: str) -> dict[str, Any]:
    """Start the task that the client will work as, and give the first tokens."""
    now, made = deps.now(), {}
    client = await deps.db.read(lambda c: oauth_clients.find(c, code.client_id))
    agent = oauth.agent_name(client.name)

    def save(c: Connection, task_id: str) -> None:
        if oauth_codes.replayed(c, code):
            raise Refused("invalid_grant", UNKNOWN_CODE)
        about = {"id": connection_id, "client_id": client.id, "client": client.name}
        about |= {"project_id": code.project_id, "person": code.person, "task_id": task_id}
        repo.add(c, repo.CONNECTED, **about, made_at=now, used_at=now)
        row = connected.find(c, connection_id)
        assert row is not None
        oauth_tokens.note_use(c, row, now)
        deps.outbox.record(c, ClientConnected(**connected.about(row, deps, code.person)))
        made.update(oauth_tokens.issue(c, connection_id, now, oauth_tokens.new_stem()))

    # Nobody ever knows the task's own token: what opens it are the client's.
    unknown = fingerprint(new_token("tsk"))
    who = {"agent": agent, "person": code.person, "name": f"connected client {agent}"}
    await start(deps, code.project_id, unknown, **who, also=save)
    return made


async def _refreshed(deps: Deps, said: dict[str, str], client_id: str) -> dict[str, Any]:
    shown = oauth.needed(said, "refresh_token")
    oauth.check_scope(said)
    row = await deps.db.read(lambda c: oauth_tokens.find(c, fingerprint(shown)))
    standing = row and await deps.db.read(lambda c: connected.find(c, row.connection_id))
    if standing:
        known = await deps.bus.request(GetMembership(person=standing.person))
        if not connected.may_run(known.roles, standing.project_id):
            left = connected.LEFT
            await deps.db.write(lambda c: connected.end(c, deps, standing, "broker", left))
    made = await deps.db.write(lambda c: oauth_tokens.refreshed(c, deps, shown, client_id))
    if isinstance(made, Refused):
        await connected.retire_ended(deps)
        raise made
    return made


async def _form(request: Request, deps: Deps) -> dict[str, str]:
    deps.limits.take(_who(request), "oauth", "too many calls")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise Refused("invalid_request", f"the body must be {FORM}")
    return oauth.once((await _body(request)).decode("utf-8", "replace"))


async def _body(request: Request) -> bytes:
    body = await request.body()
    if len(body) > MOST_BYTES:
        raise Refused("invalid_request", f"the body is over {MOST_BYTES} bytes", 413)
    return body


def _who(request: Request) -> str:
    return request.client.host if request.client is not None else "anyone"
