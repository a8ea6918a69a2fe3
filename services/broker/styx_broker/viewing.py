"""Who looks at a page, and what every page shows around its own part."""

from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, HTTPException, Request
from styx_core.errors import Unauthenticated

from styx_broker import sessions
from styx_broker.auth import Caller, TheDeps, anyone, deps_of


async def at_home(request: Request, deps: TheDeps) -> None:
    """Lead a browser that came by a bare address to the name that passkeys are for."""
    home = urlsplit(sessions.web_origin(deps))
    here = request.headers.get("host", "")
    if home.hostname == "localhost" and here.startswith(("127.0.0.1", "[::1]")):
        where = f"{home.scheme}://{home.netloc}{_asked(request)}"
        raise HTTPException(307, headers={"Location": where})


def _asked(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path


async def viewer(request: Request, _: Annotated[None, Depends(at_home)]) -> Caller:
    """Who looks at a page; a stranger is led to the sign-in and back."""
    try:
        return await anyone(request)
    except Unauthenticated:
        back = urlencode({"next": _asked(request)})
        raise HTTPException(303, headers={"Location": f"/signin?{back}"}) from None


AtHome = Annotated[None, Depends(at_home)]
TheViewer = Annotated[Caller, Depends(viewer)]


def frame(request: Request, caller: Caller, here: str) -> dict[str, Any]:
    """What every page of a signed-in person shows around its own part."""
    cookie = sessions.shown_cookie(deps_of(request), request)
    return {
        "person": caller.name,
        "here": here,
        "csrf": sessions.csrf_token(cookie) if cookie else "",
        "session": caller.session.session if caller.session else "",
        "owner": "owner" in caller.roles.values(),
    }
