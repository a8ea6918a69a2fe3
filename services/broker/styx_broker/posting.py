"""Telling: what is due goes out, is tried again, and at last lies with the dead letters.

A try is claimed by moving its time on, so that of several replicas one makes it. It may be told
twice if a process dies in between; its id is the same, and receivers can drop a repeat.
"""

import asyncio
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from sqlalchemy import Connection, select, update
from styx_core.contract.adapters_notices import Notice, Tell
from styx_core.contract.grants import ListGrants
from styx_core.errors import StyxError
from styx_core.watching import Watch

from styx_broker import repository as repo
from styx_broker import sessions
from styx_broker.deps import Deps
from styx_broker.notices import ENDING, REQUESTED

AGAIN: Final = tuple(timedelta(seconds=s) for s in (5, 30, 120, 600, 3600, 6 * 3600, 24 * 3600))
"""Pauses after each failure; after the last one it is a dead letter."""
CLAIMED: Final = timedelta(minutes=1)
AT_ONCE: Final = 16
STILL: Final = {REQUESTED: "pending", ENDING: "active"}
"""What a grant must still be for a notice of it to be worth telling."""


class Poster(Watch[Deps]):
    """Sends what is due."""

    seconds: ClassVar[float] = 1.0

    async def once(self) -> None:
        """Everything that is due now."""
        deps = self._deps
        while rows := await deps.db.read(lambda c: _due(c, deps.now())):
            claimed = await deps.db.write(lambda c: [r for r in rows if _claim(c, r, deps.now())])
            await asyncio.gather(*(self._tell(row) for row in claimed))

    async def _tell(self, row: repo.Record) -> None:
        deps = self._deps
        try:
            if await _moot(deps, row):
                done: dict[str, Any] = {"told_at": deps.now(), "trouble": "it was settled before"}
            else:
                await deps.bus.request(
                    Tell(channel_id=row.channel_id, notice=notice(deps, row)), deadline=25.0
                )
                done = {"told_at": deps.now(), "trouble": None}
        except StyxError as error:
            done = after(row, error.detail, deps.now())
        await deps.db.write(lambda c: save(c, row.id, done))


def after(row: Any, trouble: str, now: datetime) -> dict[str, Any]:
    """What a failure makes of a notice."""
    tried: dict[str, Any] = {"tries": row.tries + 1, "trouble": trouble[:500]}
    if row.tries >= len(AGAIN):
        return tried | {"dead_at": now}
    return tried | {"due_at": now + AGAIN[row.tries]}


def notice(deps: Deps, row: Any) -> Notice:
    """What is sent."""
    path = f"/grants/{row.grant_id}" if row.grant_id else "/targets"
    return Notice(
        id=row.id,
        kind=row.kind,
        at=row.at,
        title=row.title,
        text=row.text,
        link=f"{sessions.web_origin(deps)}{path}",
        about=row.about,
    )


async def _moot(deps: Deps, row: repo.Record) -> bool:
    if row.kind not in STILL or row.grant_id is None:
        return False
    found = (await deps.bus.request(ListGrants(grant_id=row.grant_id))).grants
    return not any(grant.state == STILL[row.kind] for grant in found)


def _due(c: Connection, now: datetime) -> list[repo.Record]:
    waiting = repo.NOTICE.c.told_at.is_(None) & repo.NOTICE.c.dead_at.is_(None)
    query = select(repo.NOTICE).where(waiting, repo.NOTICE.c.due_at <= now)
    return list(c.execute(query.order_by(repo.NOTICE.c.due_at).limit(AT_ONCE)))


def _claim(c: Connection, row: repo.Record, now: datetime) -> bool:
    mine = (repo.NOTICE.c.id == row.id) & (repo.NOTICE.c.due_at == row.due_at)
    return bool(c.execute(update(repo.NOTICE).where(mine).values(due_at=now + CLAIMED)).rowcount)


def save(c: Connection, notice_id: str, values: Mapping[str, Any]) -> int:
    """Change a notice."""
    changed = update(repo.NOTICE).where(repo.NOTICE.c.id == notice_id).values(values)
    return c.execute(changed).rowcount
