"""Targets' own logins: tried now and then, and marked when their provider refuses them.

Only a refusal marks a target expired; a provider or network that is away changes nothing.
"""

import contextlib
from typing import ClassVar

import structlog
from sqlalchemy import Connection, select, update
from styx_core.contract.adapters import CheckHealth
from styx_core.contract.grants_events import TargetHealthChanged
from styx_core.contract.values import HealthAnswer
from styx_core.errors import NotConnected, StyxError
from styx_core.ids import new_id
from styx_core.watching import Watch

from styx_grants import repository as repo
from styx_grants.deps import Deps

log = structlog.get_logger()


class Refresher(Watch[Deps]):
    """Tries every target's login in turn."""

    seconds: ClassVar[float] = 300.0

    async def once(self) -> None:
        """One round; a target that can't be tried now is tried in the next."""
        deps = self._deps
        for target in await deps.db.read(lambda c: c.execute(select(repo.TARGET)).all()):
            try:
                await check(deps, target)
            except StyxError as error:
                log.info("health not known", target=target.id, reason=error.detail)


async def check(deps: Deps, target: repo.Record) -> HealthAnswer:
    """Try a target's login now, and mark what became of it."""
    answer = await deps.bus.request(
        CheckHealth(
            provider=target.provider,
            credential_ref=target.credential_ref,
            config=target.config,
        )
    )
    if answer.ok or answer.expired:
        await mark(deps, target, expired=answer.expired, detail=answer.detail)
    return answer


async def connected(deps: Deps, target: repo.Record) -> None:
    """Whoever logs in again needn't wait: a marked target is tried now. Raises `NotConnected`."""
    if not target.expired:
        return
    with contextlib.suppress(StyxError):
        if (await check(deps, target)).ok:
            return
    raise NotConnected(f"the login of {target.name} has expired; reconnect it in Styx")


async def mark(deps: Deps, target: repo.Record, *, expired: bool, detail: str) -> None:
    """Keep that a target's login is expired, or works again; a change is an event."""
    now = deps.now()

    def save(c: Connection) -> None:
        changes = update(repo.TARGET).where(
            repo.TARGET.c.id == target.id, repo.TARGET.c.expired.is_(not expired)
        )
        if c.execute(changes.values(expired=expired)).rowcount:
            deps.outbox.record(
                c,
                TargetHealthChanged(
                    id=new_id("evt"),
                    at=now,
                    actor="grants",
                    project_id=target.project_id,
                    target=target.name,
                    expired=expired,
                    detail=detail,
                ),
            )

    if target.expired != expired:
        await deps.db.write(save)
