"""Single sign-on in the browser: out to the identity provider, and back with a session.

What a sign-in knows travels in a cookie of this browser alone, so that any replica can finish it
and nobody can finish another's (login CSRF).
"""

import secrets
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlencode

from fastapi import APIRouter, Request
from sqlalchemy import Connection, delete
from starlette.responses import RedirectResponse, Response
from styx_core.contract.broker import PersonSignedIn
from styx_core.contract.grants_people import GetMembership
from styx_core.errors import Forbidden, Invalid, Unauthenticated
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker import sessions
from styx_broker.auth import TheDeps
from styx_broker.deps import Deps
from styx_broker.oidc_attempt import ELSEWHERE, Attempt
from styx_broker.routes_pages import own_path
from styx_broker.tokens import fingerprint, new_token
from styx_broker.viewing import AtHome

if TYPE_CHECKING:
    from styx_broker.oidc import RelyingParty

router = APIRouter(include_in_schema=False)

BACK: Final = "/signin/oidc/back"
COOKIE: Final = "__Host-styx-oidc"
MINUTES: Final = 10
HOURS: Final = 12


def party(deps: Deps) -> "RelyingParty":
    """This Styx at its identity provider. Raises `Invalid` where none is set."""
    if not deps.settings.oidc_issuer:
        raise Invalid("no single sign-on is set up here; sign in with a passkey")
    if deps.oidc is None:
        from styx_broker.oidc import RelyingParty

        deps.oidc = RelyingParty(deps.settings, sessions.web_origin(deps) + BACK)
    return deps.oidc


@router.get("/signin/oidc")
async def leave(request: Request, deps: TheDeps, _: AtHome, next: str = "/") -> Response:
    """Begin: remember what only this browser knows, and go."""
    deps.limits.take(_who(request), "signin", "too many sign-ins")
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    attempt = Attempt(state, nonce, verifier, own_path(next))
    response = RedirectResponse(await party(deps).leave(attempt), 303)
    sessions.set_cookie_named(COOKIE, response, urlencode(vars(attempt)), MINUTES * 60)
    return response


@router.get(BACK)
async def back(request: Request, deps: TheDeps) -> Response:
    """Come back, and be signed in if this Styx knows the person."""
    deps.limits.take(_who(request), "signin", "too many sign-ins")
    attempt, now = _attempt(request.cookies.get(COOKIE, "")), deps.now()
    person = await party(deps).arrive(attempt, dict(request.query_params), int(now.timestamp()))
    known = await deps.bus.request(GetMembership(person=person))
    if not known.roles:
        raise Forbidden(f"{person} has no role here; ask an owner to invite that name")
    cookie, until = new_token("web"), now + timedelta(hours=HOURS)
    values = {"cookie_sha256": fingerprint(cookie), "person": person, "session": ""}
    issuer = deps.settings.oidc_issuer
    event = PersonSignedIn(id=new_id("evt"), at=now, actor=person, person=person, issuer=issuer)

    def save(c: Connection) -> None:
        c.execute(delete(repo.SESSION).where(repo.SESSION.c.expires_at <= now))
        repo.add(c, repo.SESSION, **values, expires_at=until)
        deps.outbox.record(c, event)

    await deps.db.write(save)
    response = RedirectResponse(attempt.next, 303)
    response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
    sessions.set_cookie(deps, response, cookie, HOURS * 3600)
    return response


def _attempt(cookie: str) -> Attempt:
    """The sign-in that this browser began. Raises `Unauthenticated`."""
    found = {name: values[0] for name, values in parse_qs(cookie).items()}
    if found.keys() != Attempt.__dataclass_fields__.keys():
        raise Unauthenticated(ELSEWHERE)
    return Attempt(**found | {"next": own_path(found["next"])})


def _who(request: Request) -> str:
    return request.client.host if request.client is not None else "anyone"
