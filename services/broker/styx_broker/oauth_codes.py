"""Authorization codes: given for a person's yes, good once, for a minute, to who asked for it."""

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, select, update

from styx_broker import connected
from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.oauth import Asked
from styx_broker.tokens import fingerprint, new_token

SECONDS: Final = 60


def give(
    c: Connection, asked: Asked, challenge: str, person: str, project_id: str, now: datetime
) -> str:
    """A new code."""
    code = new_token("oac")
    about = {"client_id": asked.client_id, "redirect_uri": asked.redirect_uri}
    about |= {"challenge": challenge, "person": person, "project_id": project_id}
    until = now + timedelta(seconds=SECONDS)
    repo.add(c, repo.CODE, sha256=fingerprint(code), **about, expires_at=until, replayed=False)
    return code


def find(c: Connection, sha256: str) -> repo.Record | None:
    """A code that was given, used or not, by its hash."""
    return c.execute(select(repo.CODE).where(repo.CODE.c.sha256 == sha256)).one_or_none()


def replayed(c: Connection, row: repo.Record) -> bool:
    """Whether it came again while what it gives was being made; a replay from now on waits."""
    query = select(repo.CODE.c.replayed).where(repo.CODE.c.sha256 == row.sha256)
    return c.execute(query.with_for_update()).scalar_one_or_none() is not False


def use(c: Connection, row: repo.Record, connection_id: str) -> bool:
    """Use a code up; False if somebody else just did."""
    unused = (repo.CODE.c.sha256 == row.sha256) & repo.CODE.c.connection_id.is_(None)
    now_used = update(repo.CODE).where(unused).values(connection_id=connection_id)
    return bool(c.execute(now_used).rowcount)


def replay(c: Connection, deps: Deps, row: repo.Record) -> None:
    """A used code came again: what it gave ends, or never begins (RFC 6749, section 4.1.2)."""
    which = repo.CODE.c.sha256 == row.sha256
    c.execute(update(repo.CODE).where(which).values(replayed=True))
    used = c.execute(select(repo.CODE.c.connection_id).where(which)).scalar_one()
    gave = connected.find(c, used)
    if gave is not None:
        connected.replayed(c, deps, gave, "authorization code")
