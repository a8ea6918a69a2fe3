"""Access and refresh tokens: opaque, kept as hashes, gone with their connection.

A refresh token is used once, with two minutes' grace: sessions of one program share it and refresh
at the same time, and each gets tokens of its own. Whoever shows it later has it from somewhere
else, or lost to somebody who has: the connection ends (RFC 9700, section 4.14.2).
"""

import secrets
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, update
from styx_core.db import by
from styx_core.digest import STEM
from styx_core.oauth_places import SCOPE

from styx_broker import connected
from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.oauth import Refused
from styx_broker.oauth_clients import UNUSED
from styx_broker.tokens import fingerprint, new_token, same

ACCESS: Final = timedelta(hours=1)
GRACE: Final = timedelta(minutes=2)
SEEN: Final = timedelta(minutes=1)
"""How exact the time of the last use is."""
REFRESH: Final = "styx_ort_"
OVER: Final = "this refresh token is unknown, used up or revoked; connect the client again"


def new_stem() -> str:
    """What the tokens of a connection begin with."""
    return secrets.token_urlsafe(32)


def issue(c: Connection, connection_id: str, now: datetime, stem: str) -> dict[str, Any]:
    """A fresh pair, as a client is answered (RFC 6749, section 5.1).

    All tokens of a connection share a stem (`new_stem`), which no row holds: `styx_core.digest`.
    """
    access, refresh = new_token("oat", stem), new_token("ort", stem)
    for kind, token, life in (("access", access, ACCESS), ("refresh", refresh, UNUSED)):
        row = {"sha256": fingerprint(token), "kind": kind, "connection_id": connection_id}
        repo.add(c, repo.TOKEN, **row, expires_at=now + life)
    return {
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": int(ACCESS.total_seconds()),
        "refresh_token": refresh,
        "scope": SCOPE,
    }


def find(c: Connection, sha256: str) -> repo.Record | None:
    """A token by its hash."""
    row = c.execute(by(repo.TOKEN.c.sha256), {"value": sha256}).one_or_none()
    return row if row is not None and same(row.sha256, sha256) else None


def carrying(c: Connection, sha256: str, now: datetime) -> tuple[repo.Record, repo.Record] | None:
    """The running task, and the connection, that an access token is of."""
    row = find(c, sha256)
    if row is None or row.kind != "access" or row.expires_at <= now:
        return None
    standing = connected.find(c, row.connection_id)
    if standing is None or connected.over(standing, now):
        return None
    return c.execute(by(repo.TASK.c.id), {"value": standing.task_id}).one(), standing


def note_use(c: Connection, row: repo.Record, now: datetime) -> None:
    """Keep when a connection was last used."""
    which = repo.CONNECTED.c.id == row.id
    c.execute(update(repo.CONNECTED).where(which).values(used_at=now))
    client = repo.CLIENT.c.id == row.client_id
    c.execute(update(repo.CLIENT).where(client).values(used_at=now))


def refreshed(c: Connection, deps: Deps, token: str, client_id: str) -> dict[str, Any] | Refused:
    """A new pair for a refresh token; or the refusal, answered so that what it ended stays so."""
    now = deps.now()
    row = find(c, fingerprint(token))
    if row is None or row.kind != "refresh" or row.expires_at <= now:
        return Refused("invalid_grant", OVER)
    standing = connected.find(c, row.connection_id)
    if standing is None or standing.client_id != client_id or connected.over(standing, now):
        return Refused("invalid_grant", OVER)
    if row.replaced_at is not None and row.replaced_at + GRACE <= now:
        connected.replayed(c, deps, standing, "refresh token")
        return Refused("invalid_grant", OVER)
    if row.replaced_at is None:
        which = repo.TOKEN.c.sha256 == row.sha256
        c.execute(update(repo.TOKEN).where(which).values(replaced_at=now))
    note_use(c, standing, now)
    return issue(c, standing.id, now, token[len(REFRESH) :][:STEM])
