"""Signed-in browsers: a cookie that no script can read, and a token against forged requests.

The cookie is for this one host, over a secure channel only (RFC 6265bis, the `__Host-` prefix;
browsers count `localhost` as secure). A request that changes something must come from our own
pages: its `Origin` is ours, and it carries a token that only a page made for this session knows.
"""

import hashlib
import hmac
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from fastapi import Request
from sqlalchemy import Connection, delete, select
from starlette.responses import Response
from styx_core.errors import Forbidden
from styx_core.settings import web_url

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.tokens import fingerprint, same

CSRF: Final = "Styx-CSRF"
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


def csrf_token(cookie: str) -> str:
    """What a page of this session shows with each request that changes something."""
    return hmac.new(cookie.encode(), b"styx csrf", hashlib.sha256).hexdigest()


def cookie_name(deps: Deps) -> str:
    """The cookie's name, with the port: browsers keep cookies by host, and two may run on one."""
    port = urlsplit(deps.settings.public_url).port
    return f"__Host-styx-{port}" if port else "__Host-styx"


def shown_cookie(deps: Deps, request: Request) -> str | None:
    """What a browser shows of being signed in."""
    return request.cookies.get(cookie_name(deps))


def set_cookie(deps: Deps, response: Response, cookie: str, seconds: int) -> None:
    """Sign a browser in."""
    set_cookie_named(cookie_name(deps), response, cookie, seconds)


def set_cookie_named(name: str, response: Response, value: str, seconds: int) -> None:
    """Have a browser keep something for this host alone, where no script can read it."""
    response.set_cookie(
        name, value, max_age=seconds, path="/", secure=True, httponly=True, samesite="lax"
    )


def clear_cookie(deps: Deps, response: Response) -> None:
    """Sign a browser out."""
    response.delete_cookie(cookie_name(deps), path="/", secure=True, httponly=True, samesite="lax")


def ours(deps: Deps, request: Request) -> None:
    """Raises `Forbidden` for a request that another site's page made."""
    origin = request.headers.get("origin")
    if origin is not None and not hmac.compare_digest(origin.encode(), web_origin(deps).encode()):
        raise Forbidden("this request comes from another site's page; nothing was done")


def checked(deps: Deps, request: Request, cookie: str) -> None:
    """The same for a signed-in browser, which shows its token as well."""
    if request.method in SAFE:
        return
    ours(deps, request)
    if not same(request.headers.get(CSRF, ""), csrf_token(cookie)):
        raise Forbidden("this page is of an earlier session; reload it and try again")


def web_origin(deps: Deps) -> str:
    """Where our pages are served."""
    where = urlsplit(web_url(deps.settings.public_url))
    return f"{where.scheme}://{where.netloc}"


def find(c: Connection, cookie: str, now: datetime) -> repo.Record | None:
    """The live session of a cookie."""
    known = fingerprint(cookie)
    query = select(repo.SESSION).where(repo.SESSION.c.cookie_sha256 == known)
    row = c.execute(query).one_or_none()
    if row is None or not same(row.cookie_sha256, known) or row.expires_at <= now:
        return None
    return row


def end(c: Connection, cookie: str) -> None:
    """Forget a session."""
    known = fingerprint(cookie)
    c.execute(delete(repo.SESSION).where(repo.SESSION.c.cookie_sha256 == known))
