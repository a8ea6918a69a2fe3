"""One extension of a live grant: a person's signed word, by the rules of an approval today.

It adds the time that was approved, once. Whoever needs more asks anew, and somebody looks again.
"""

from datetime import datetime

from sqlalchemy import Connection, select
from styx_core.contract.grants import Access, ExtendGrant
from styx_core.contract.grants_events import GrantExtended
from styx_core.errors import AlreadyDecided, Forbidden, GrantOver
from styx_core.ids import new_id
from styx_core.scope import Scope, ordered
from styx_core.signing import extend_payload

from styx_grants import people_rows as rows
from styx_grants import proofs
from styx_grants import repository as repo
from styx_grants.deadlines import Duration, due, expires_at
from styx_grants.deciding import may_approve, still_askable
from styx_grants.deps import Deps
from styx_grants.machine import State
from styx_grants.policy_terms import DecidedBy
from styx_grants.requesting import access

EXTENDABLE = (Duration.QUARTER, Duration.HOUR, Duration.EIGHT_HOURS)


def extend(c: Connection, deps: Deps, command: ExtendGrant, now: datetime) -> Access:
    """Let a grant live on. Raises our errors; nothing is changed then."""
    grant = repo.grant(c, command.grant_id, lock=True)
    if rows.DECIDING.isdisjoint(rows.roles_in(c, command.person, grant.project_id)):
        raise Forbidden(f"{command.person} is not an approver here")
    until = _may_be_longer(grant, now)
    payload = extend_payload(grant_id=grant.id, until=grant.expires_at.isoformat())
    proofs.proven(c, deps, command.person, payload, command.signature, mfa=grant.mfa)
    may_approve(c, command.person, grant)
    target = c.execute(select(repo.TARGET).where(repo.TARGET.c.id == grant.target_id)).one()
    scopes = ordered(Scope(s) for s in grant.scopes)
    still_askable(c, deps, grant, target, scopes, now)
    repo.set_grant(c, grant.id, expires_at=until, extended_at=now)
    event = GrantExtended(
        id=new_id("evt"),
        at=now,
        actor=command.person,
        project_id=grant.project_id,
        task_id=grant.task_id,
        grant_id=grant.id,
        target=target.name,
        scopes=scopes,
        command=tuple(grant.command),
        expires_at=until,
        payload=payload,
        signature=proofs.text(command.signature),
    )
    deps.outbox.record(c, event)
    return access(c, repo.grant(c, grant.id), target.name, grant.task_id)


def _may_be_longer(grant: repo.Record, now: datetime) -> datetime:
    """When it would end. Raises `GrantOver`, `AlreadyDecided` or `Forbidden`."""
    if grant.state != State.ACTIVE or due(repo.times(grant), now) is not None:
        raise GrantOver(f"{grant.id} is over or not approved; the agent asks again")
    if grant.extended_at is not None:
        raise AlreadyDecided(f"{grant.id} was extended once already; the agent asks again")
    duration = Duration(grant.duration)
    if duration not in EXTENDABLE or grant.decided_by != DecidedBy.USER or grant.quorum > 1:
        raise Forbidden("only what one person approved for a time can be extended")
    until = expires_at(duration, grant.expires_at, grant.max_seconds)
    if until is None:
        raise Forbidden("this grant has no end of its own")
    return until
