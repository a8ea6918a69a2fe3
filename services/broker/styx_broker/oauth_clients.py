"""OAuth clients: registered by themselves, and forgotten when nobody uses them.

A registration says nothing that can be trusted; what counts is the person's yes to it.
"""

from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.oauth import Refused, Registration, fits

UNUSED: Final = timedelta(days=30)
MOST_NEVER_USED: Final = 10_000
"""Anybody can register: of those that no person ever let in, the newest are kept."""
CODES_KEPT: Final = timedelta(days=1)
"""How long a code is known after its time, so that a late replay is seen."""


def register(c: Connection, said: Registration, now: datetime) -> dict[str, Any]:
    """Keep a new client; what it is told of itself (RFC 7591, section 3.2.1)."""
    client_id = new_id("cli")
    uris = list(said.redirect_uris)
    repo.add(c, repo.CLIENT, id=client_id, name=said.name, redirect_uris=uris, made_at=now)
    return {
        "client_id": client_id,
        "client_id_issued_at": int(now.timestamp()),
        "client_name": said.name,
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }


def find(c: Connection, client_id: str) -> repo.Record:
    """A client. Raises `Refused`."""
    row = c.execute(select(repo.CLIENT).where(repo.CLIENT.c.id == client_id)).one_or_none()
    if row is None:
        told = "client_id: no such client, or unused for too long; register it again"
        raise Refused("invalid_client", told, 401)
    return row


def goes_back(client: repo.Record, uri: str) -> bool:
    """Whether a client may be answered there."""
    return any(fits(uri, known) for known in client.redirect_uris)


def stale(now: datetime) -> tuple[tuple[Any, ColumnElement[bool]], ...]:
    """By table, which rows are worth nothing any more."""
    known = repo.CLIENT.c
    never = select(known.id).where(known.used_at.is_(None)).order_by(known.id.desc())
    unused = func.coalesce(known.used_at, known.made_at) <= now - UNUSED
    return (
        (repo.CLIENT, or_(unused, known.id.in_(never.offset(MOST_NEVER_USED)))),
        (repo.CODE, repo.CODE.c.expires_at <= now - CODES_KEPT),
        (repo.TOKEN, repo.TOKEN.c.expires_at <= now),
    )


def any_stale(c: Connection, now: datetime) -> bool:
    """Whether there is something to forget."""
    looks = (select(table).where(due).limit(1) for table, due in stale(now))
    return any(c.execute(look).first() is not None for look in looks)


def forget(c: Connection, now: datetime) -> None:
    """Forget it."""
    for table, due in stale(now):
        c.execute(delete(table).where(due))
