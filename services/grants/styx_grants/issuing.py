"""Issuing under a live grant, and ending leases.

The order is the law: minted and sealed by `adapters` (so that nobody here can read it), recorded
here with its event, confirmed by the stream, and only then handed on. What can't be recorded is
taken back.
"""

import asyncio
import contextlib
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection, Select, select, update
from styx_core.contract.adapters import Issue, Issued, RevokeLease
from styx_core.contract.grants import Authorized
from styx_core.contract.grants_events import CredentialIssued, CredentialRevoked, GrantUsed
from styx_core.db import by
from styx_core.errors import GrantOver, Invalid, LoginExpired, StyxError
from styx_core.ids import new_id
from styx_core.scope import Scope, ordered

from styx_grants import repository as repo
from styx_grants.deadlines import Duration, due, ends_at
from styx_grants.deps import Deps
from styx_grants.machine import State
from styx_grants.refreshing import check, connected
from styx_grants.requesting import access


@dataclass(frozen=True)
class Call:
    """One use of a grant, and the edge that it is for."""

    task_id: str
    exec_id: str
    edge_key: str
    public_key: str | None = None
    surface: str | None = None
    operation: str | None = None
    command: tuple[str, ...] = ()
    exact: bool = False


async def issue(deps: Deps, target: repo.Record, grant: repo.Record, call: Call) -> Authorized:
    """A credential for one use of a live grant. Raises `GrantOver`, `Unrecorded`, and adapters'."""
    await connected(deps, target)
    issued = await _minted(deps, target, grant, call)
    try:
        return await _recorded(deps, target, grant, call, issued)
    except (StyxError, asyncio.CancelledError):  # also when the caller's deadline is over
        await _take_back(deps, target, grant, issued)
        raise


async def _minted(deps: Deps, target: repo.Record, grant: repo.Record, call: Call) -> Issued:
    """What adapters mint for this.

    A refusal may be of this one call (a role's trust, a clock), so the login itself is tried before
    its target is marked.
    """
    once = grant.duration == Duration.ONCE
    command = Issue(
        lease_id=new_id("lse"),
        grant_id=grant.id,
        exec_id=call.exec_id,
        provider=target.provider,
        credential_ref=target.credential_ref,
        config=target.config,
        scopes=tuple(Scope(s) for s in grant.scopes),
        surface=call.surface,
        operation=call.operation,
        once=once,
        command=call.command if call.exact else (),
        expires_at=ends_at(repo.times(grant)),
        edge_key=call.edge_key,
        public_key=call.public_key,
    )
    try:
        return await deps.bus.request(command)
    except LoginExpired:
        with contextlib.suppress(StyxError):
            await check(deps, target)
        raise


async def _recorded(
    deps: Deps, target: repo.Record, grant: repo.Record, call: Call, issued: Issued
) -> Authorized:
    now = deps.now()
    event = _event(target, grant, call, issued, now)

    def save(c: Connection) -> tuple[Authorized, str | None]:
        row = repo.grant(c, grant.id, lock=True)
        if row.state != State.ACTIVE or due(repo.times(row), now) is not None:
            raise GrantOver(f"the grant on {target.name} has ended meanwhile; ask again")
        unconfirmed = _save_lease(c, deps, event, grant, call, issued, now)
        used: dict[str, Any] = {"last_used_at": now}
        if row.duration == Duration.ONCE:
            if row.used_by not in (None, call.exec_id):
                raise GrantOver("this grant was for one command, which has run; ask again")
            used["used_by"] = call.exec_id
        repo.set_grant(c, grant.id, **used)
        answer = access(c, row, target.name, call.task_id)
        return Authorized(access=answer, sealed=issued.sealed), unconfirmed

    answer, waits_for = await deps.db.write(save)
    if waits_for is not None:
        await deps.outbox.durable(deps.db, waits_for, deps.record_seconds)
    return answer


def _save_lease(
    c: Connection,
    deps: Deps,
    event: CredentialIssued,
    grant: repo.Record,
    call: Call,
    issued: Issued,
    now: datetime,
) -> str | None:
    """Record the lease (or its reuse) and the use; returns the event that must be durable first."""
    sealed = issued.sealed
    known = c.execute(by(repo.LEASE.c.id), {"value": sealed.lease_id}).one_or_none()
    if known is None:
        _add_lease(c, event, issued, now)
        deps.outbox.record(c, event)
    used = GrantUsed(
        **_about(event), exec_id=call.exec_id, lease_id=sealed.lease_id, operation=call.operation
    )
    deps.outbox.record(c, used)
    _add_use(c, grant, call, sealed.lease_id, now)
    recorded = event.id if known is None else known.event_id
    return recorded if known is None or deps.outbox.pending(c, recorded) else None


def _add_use(c: Connection, grant: repo.Record, call: Call, lease_id: str, now: datetime) -> None:
    """Keep the use; who asks again for a lost answer makes no other. Raises `Invalid`."""
    known = c.execute(by(repo.USE.c.id), {"value": call.exec_id}).one_or_none()
    if known is None:
        values = {"grant_id": grant.id, "task_id": call.task_id, "lease_id": lease_id, "at": now}
        repo.add(c, repo.USE, id=call.exec_id, **values)
    elif (known.grant_id, known.task_id) != (grant.id, call.task_id):
        raise Invalid("exec_id: another call has this id; begin the call anew")


def _add_lease(c: Connection, event: CredentialIssued, issued: Issued, now: datetime) -> None:
    sealed = issued.sealed
    repo.add(
        c,
        repo.LEASE,
        id=sealed.lease_id,
        grant_id=event.grant_id,
        event_id=event.id,
        surface=event.surface,
        handle=issued.handle,
        expires_at=sealed.expires_at,
        scoped=sealed.scoped,
        revocable=sealed.revocable,
        issued_at=now,
    )


def _about(event: CredentialIssued) -> dict[str, object]:
    shared = ("at", "actor", "project_id", "task_id", "grant_id", "target", "scopes", "command")
    return {"id": new_id("evt"), **{name: getattr(event, name) for name in shared}}


def _event(
    target: repo.Record, grant: repo.Record, call: Call, issued: Issued, now: datetime
) -> CredentialIssued:
    return CredentialIssued(
        id=new_id("evt"),
        at=now,
        actor=call.task_id,
        project_id=grant.project_id,
        task_id=call.task_id,
        grant_id=grant.id,
        target=target.name,
        scopes=ordered(Scope(s) for s in grant.scopes),
        command=call.command,
        lease_id=issued.sealed.lease_id,
        surface=call.surface,
        expires_at=issued.sealed.expires_at,
        scoped=issued.sealed.scoped,
        revocable=issued.sealed.revocable,
        handle=issued.handle,
    )


async def _take_back(deps: Deps, target: repo.Record, grant: repo.Record, issued: Issued) -> None:
    """Undo an issue that could not be recorded, with its own event where a lease was saved.

    A saved one that can't be ended now stays open and ends with its grant; any other never left.
    """
    lease_id = issued.sealed.lease_id
    try:
        saved = await deps.db.read(lambda c: repo.open_leases(c, grant.id))
        lease = next((each for each in saved if each.id == lease_id), None)
        if lease is not None:
            await _end_lease(deps, lease, target)
        else:
            command = _revoke_command(target, grant.id, lease_id, issued.handle)
            await deps.bus.request(command)
    except StyxError:
        return


def _revoke_command(
    target: repo.Record, grant_id: str, lease_id: str, handle: dict[str, str]
) -> RevokeLease:
    return RevokeLease(
        lease_id=lease_id,
        grant_id=grant_id,
        provider=target.provider,
        credential_ref=target.credential_ref,
        config=target.config,
        handle=handle,
    )


def _mark(c: Connection, lease_id: str, now: datetime, outcome: str) -> bool:
    ended = update(repo.LEASE).where(repo.LEASE.c.id == lease_id, repo.LEASE.c.ended_at.is_(None))
    return bool(c.execute(ended.values(ended_at=now, outcome=outcome)).rowcount)


async def end_leases(deps: Deps, grant_id: str | None = None) -> None:
    """End the open leases of a grant (or of all grants that are over) at their providers.

    One that a provider can't end now stays open and is tried again until its own expiry.
    """
    for lease in await deps.db.read(lambda c: repo.open_leases(c, grant_id)):
        query = select(repo.TARGET).where(repo.TARGET.c.id == lease.target_id)
        target = await deps.db.read(partial(_one, query))
        await _end_lease(deps, lease, target)


def _one(query: Select[Any], c: Connection) -> repo.Record:
    return c.execute(query).one()


async def _end_lease(deps: Deps, lease: repo.Record, target: repo.Record) -> None:
    now = deps.now()
    if lease.expires_at <= now:
        # The target's own credential, handed on, neither ends nor can be ended.
        outcome = "none" if lease.revocable == "none" else "expired"
    else:
        try:
            command = _revoke_command(target, lease.grant_id, lease.id, lease.handle)
            outcome = (await deps.bus.request(command)).outcome
        except StyxError:
            return
    if outcome == "failed":
        return

    def save(c: Connection) -> None:
        if _mark(c, lease.id, now, outcome):
            deps.outbox.record(
                c,
                CredentialRevoked(
                    id=new_id("evt"),
                    at=now,
                    actor="grants",
                    project_id=lease.project_id,
                    task_id=lease.task_id,
                    grant_id=lease.grant_id,
                    target=target.name,
                    lease_id=lease.id,
                    outcome=outcome,
                ),
            )

    await deps.db.write(save)
