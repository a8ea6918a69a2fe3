"""Coming in: by the admin link or an invitation, and then with a passkey."""

from datetime import timedelta
from typing import Any, Final

from fastapi import APIRouter, Request
from pydantic import Field
from sqlalchemy import Connection, delete, select
from starlette.responses import JSONResponse, Response
from styx_core.contract.broker import AdminClaimed
from styx_core.contract.grants_people import CloseSession, EnrolApprover, OpenSession
from styx_core.contract.values import Assertion, Base64, Line, Name, Registration
from styx_core.errors import Unauthenticated
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker import sessions
from styx_broker.auth import TheCaller, TheDeps
from styx_broker.deps import Deps
from styx_broker.routes_tasks import Body
from styx_broker.tokens import fingerprint, new_token

router = APIRouter(tags=["sign-in"])

NONCE_MINUTES: Final = 5


class Claim(Body):
    """A link's code, who uses it, and their new key: a terminal's public half, or a passkey.

    `bearer` is what a terminal will show to be let in; it derives from the terminal's own secret.
    """

    code: str = Field(max_length=100)
    person: Name
    key: Base64 | Registration
    bearer: str | None = Field(None, pattern="^styx_per_[0-9a-f]{64}$")


class SignIn(Body):
    """A passkey's signature over `signing.signin_payload`, and the key that it vouches for."""

    nonce: Line
    session_key: Base64
    assertion: Assertion


@router.post("/v1/claim", status_code=201)
async def claim(body: Claim, request: Request, deps: TheDeps) -> dict[str, str]:
    """Use a link: the first one makes the owner, later ones what an owner signed them for."""
    sessions.ours(deps, request)
    deps.limits.take("anyone", "claim", "too many tries of a link")
    now, code = deps.now(), fingerprint(body.code)
    first = not await deps.db.read(repo.claimed)
    if first:
        # Used up at once: a code that was tried in vain is gone, one that was copied worth nothing.
        await deps.db.write(lambda c: repo.use_claim(c, code))
    enrol = EnrolApprover(person=body.person, code_sha256=code, key=body.key)
    await deps.bus.request(enrol)
    event = AdminClaimed(id=new_id("evt"), at=now, actor=body.person, person=body.person)

    def save(c: Connection) -> None:
        query = select(repo.PERSON).where(repo.PERSON.c.name == body.person)
        if c.execute(query).one_or_none() is None:
            repo.add(c, repo.PERSON, name=body.person, joined_at=now)
        if body.bearer is not None:
            repo.add(c, repo.BEARER, sha256=fingerprint(body.bearer), person=body.person)
        if first:
            deps.outbox.record(c, event)

    await deps.db.write(save)
    return {"person": body.person}


@router.post("/v1/signin/nonce", status_code=201)
async def nonce(request: Request, deps: TheDeps) -> dict[str, str]:
    """What a passkey is to sign, within five minutes, to sign in."""
    sessions.ours(deps, request)
    who = request.client.host if request.client is not None else "anyone"
    deps.limits.take(who, "signin", "too many sign-ins")
    made, now = new_token("non"), deps.now()
    until = now + timedelta(minutes=NONCE_MINUTES)

    def save(c: Connection) -> None:
        c.execute(delete(repo.SIGN_IN).where(repo.SIGN_IN.c.expires_at <= now))
        repo.add(c, repo.SIGN_IN, nonce_sha256=fingerprint(made), expires_at=until)

    await deps.db.write(save)
    return {"nonce": made}


@router.post("/v1/signin", status_code=201)
async def sign_in(body: SignIn, request: Request, deps: TheDeps) -> Response:
    """Sign a browser in, if `grants` knows the passkey."""
    sessions.ours(deps, request)
    now = deps.now()
    await deps.db.write(lambda c: _use_nonce(c, body.nonce, deps))
    opened = await deps.bus.request(
        OpenSession(nonce=body.nonce, session_key=body.session_key, signature=body.assertion)
    )
    cookie = new_token("web")
    values: dict[str, Any] = {"person": opened.person, "session": opened.session}
    values |= {"cookie_sha256": fingerprint(cookie), "expires_at": opened.expires_at}

    def save(c: Connection) -> None:
        c.execute(delete(repo.SESSION).where(repo.SESSION.c.expires_at <= now))
        repo.add(c, repo.SESSION, **values)

    await deps.db.write(save)
    response = JSONResponse({"person": opened.person, "session": opened.session}, 201)
    sessions.set_cookie(deps, response, cookie, int((opened.expires_at - now).total_seconds()))
    return response


def _use_nonce(c: Connection, shown: str, deps: Deps) -> None:
    known = fingerprint(shown)
    found = delete(repo.SIGN_IN).where(
        repo.SIGN_IN.c.nonce_sha256 == known, repo.SIGN_IN.c.expires_at > deps.now()
    )
    if not c.execute(found).rowcount:
        raise Unauthenticated("this sign-in is too old or was used already; try again")


@router.post("/v1/signout")
async def sign_out(request: Request, deps: TheDeps) -> Response:
    """Sign this browser out, here and at `grants`."""
    cookie = sessions.shown_cookie(deps, request)
    response = JSONResponse({"signed_in": False})
    sessions.clear_cookie(deps, response)
    if cookie is None:
        return response
    row = await deps.db.read(lambda c: sessions.find(c, cookie, deps.now()))
    if row is not None:
        sessions.checked(deps, request, cookie)
        if row.session:
            await deps.bus.request(CloseSession(session=row.session))
        await deps.db.write(lambda c: sessions.end(c, cookie))
    return response


@router.get("/v1/me")
async def me(deps: TheDeps, caller: TheCaller) -> dict[str, Any]:
    """Who is calling, what they may do, and where their pages are."""
    roles = dict(caller.roles)
    return {"person": caller.name, "roles": roles, "web": sessions.web_origin(deps)}
