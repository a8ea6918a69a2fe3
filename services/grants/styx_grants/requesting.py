"""Opening a request: what a call needs, put to the policy, becomes a grant row and its event."""

from datetime import datetime

from sqlalchemy import Connection, select
from styx_core.contract.grants import Access
from styx_core.contract.grants_events import AccessRequested, GrantDecided
from styx_core.ids import new_id
from styx_core.scope import Scope, ordered
from styx_core.telemetry import DECISIONS

from styx_grants import offering
from styx_grants import repository as repo
from styx_grants.asking import Asked, evaluate
from styx_grants.deadlines import Duration, due, expires_at
from styx_grants.deps import Deps
from styx_grants.machine import State, Step, apply
from styx_grants.policy_terms import DecidedBy, Decision, Effect


def usable(
    c: Connection, deps: Deps, task: repo.Record, target: repo.Record, asked: Asked, now: datetime
) -> list[repo.Record]:
    """The task's live grants that today's policy lets cover this.

    A denial outranks every grant. Where policy asks, a person's yes still holds, but not a grant
    that policy gave: it lasts only while policy would give it again.
    """
    grants = repo.live(c, task.id, target.id, now)
    effect = evaluate(c, deps, task, target, asked, now).effect if grants else Effect.DENY
    if effect is Effect.ASK:
        return [grant for grant in grants if grant.decided_by == DecidedBy.USER]
    return grants if effect is Effect.ALLOW else []


def open_request(
    c: Connection, deps: Deps, task: repo.Record, target: repo.Record, asked: Asked, now: datetime
) -> repo.Record:
    """The grant row of a new request, decided by policy or pending; an equal open one is reused."""
    decision = evaluate(c, deps, task, target, asked, now)
    offer = None
    if decision.effect is Effect.ASK:
        offer = offering.standing(c, task, target, asked.scopes, decision, now)
        waiting = _same_pending(c, task, target, asked, now) if offer is None else None
        if waiting is not None:
            return waiting
    row = _insert(c, task, target, asked, decision, now)
    if offer is not None:
        row = _accepted(c, row, offer, decision, now)
    deps.outbox.record(c, _told(row, target, asked, decision, now, offer))
    return row


def _accepted(
    c: Connection, row: repo.Record, offer: repo.Record, decision: Decision, now: datetime
) -> repo.Record:
    """A request that its task was offered: active at once, in the name of who offered it."""
    duration = Duration(row.duration)
    if duration is not Duration.ONCE:
        duration = Duration(offer.duration)
    repo.set_grant(
        c,
        row.id,
        state=apply(State.PENDING, Step.APPROVE).state,
        decided_by=DecidedBy.USER,
        decided_person=offer.person,
        decided_at=now,
        duration=duration,
        expires_at=expires_at(duration, now, decision.max_seconds),
        why=f"{offer.person} offered it instead of {offer.grant_id}",
    )
    offering.take(c, offer, row.id)
    return repo.grant(c, row.id)


def _same_pending(
    c: Connection, task: repo.Record, target: repo.Record, asked: Asked, now: datetime
) -> repo.Record | None:
    rows = c.execute(
        select(repo.GRANT).where(
            repo.GRANT.c.task_id == task.id,
            repo.GRANT.c.target_id == target.id,
            repo.GRANT.c.state == State.PENDING,
        )
    )
    wanted = (set(asked.scopes), list(asked.command), asked.digest)
    same = (r for r in rows if (set(r.scopes), r.command, r.command_digest) == wanted)
    return next((row for row in same if due(repo.times(row), now) is None), None)


def _insert(
    c: Connection,
    task: repo.Record,
    target: repo.Record,
    asked: Asked,
    decision: Decision,
    now: datetime,
) -> repo.Record:
    grant_id = new_id("grt")
    repo.add(
        c,
        repo.GRANT,
        id=grant_id,
        project_id=task.project_id,
        task_id=task.id,
        target_id=target.id,
        scopes=list(ordered(asked.scopes)),
        command=list(asked.command),
        command_digest=asked.digest,
        exact=asked.exact,
        surface=asked.surface,
        operation=asked.operation,
        understood=asked.understood,
        reason=asked.reason,
        why=decision.why,
        because=list(decision.because),
        mfa=decision.mfa,
        approvers=None if decision.approvers is None else sorted(decision.approvers),
        quorum=decision.quorum,
        own_agent=decision.own_agent,
        approvable=decision.approvable,
        max_seconds=decision.max_seconds,
        duration=asked.duration,
        created_at=now,
        **_decided(asked, decision, now),
    )
    return repo.grant(c, grant_id)


def _decided(asked: Asked, decision: Decision, now: datetime) -> dict[str, object]:
    """What the policy has settled at once; a person's decision is still to come where it asks."""
    if decision.effect is Effect.ASK:
        return {"state": State.PENDING}
    allowed = decision.effect is Effect.ALLOW
    state = apply(State.PENDING, Step.APPROVE if allowed else Step.DENY).state
    until = expires_at(asked.duration, now, decision.max_seconds) if allowed else None
    by = decision.decided_by
    return {"state": state, "decided_by": by, "decided_at": now, "expires_at": until}


def _told(
    row: repo.Record,
    target: repo.Record,
    asked: Asked,
    decision: Decision,
    now: datetime,
    offer: repo.Record | None,
) -> AccessRequested | GrantDecided:
    about = {
        "id": new_id("evt"),
        "at": now,
        "project_id": row.project_id,
        "task_id": row.task_id,
        "grant_id": row.id,
        "target": target.name,
        "scopes": ordered(asked.scopes),
        "command": asked.command,
        "why": row.why,
    }
    if offer is not None:
        evidence = {"payload": offer.payload, "signature": offer.signature}
        told = {"decided_by": "user", "because": decision.because, "expires_at": row.expires_at}
        return GrantDecided(**about, **told, **evidence, actor=offer.person, verdict="approve")
    if decision.effect is Effect.ASK:
        return AccessRequested(
            **about, actor=row.task_id, reason=asked.reason, understood=asked.understood
        )
    DECISIONS.labels(decision.effect, decision.decided_by).inc()
    return GrantDecided(
        **about,
        actor=str(decision.decided_by),
        verdict="approve" if decision.effect is Effect.ALLOW else "deny",
        decided_by=decision.decided_by,
        because=decision.because,
        expires_at=row.expires_at,
    )


STATUS = {State.ACTIVE: "active", State.PENDING: "pending", State.DENIED: "denied"}


def access(c: Connection, row: repo.Record, target_name: str, task_id: str | None) -> Access:
    """Where a request stands, as its task sees it."""
    state = State(row.state)
    inherited = row.duration == Duration.ALWAYS and row.task_id != task_id
    return Access(
        status=STATUS.get(state, "ended"),
        grant_id=row.id,
        scopes=ordered(Scope(s) for s in row.scopes),
        target=target_name,
        why=row.end_why or row.why,
        because=tuple(row.because),
        decided_by="persistent-grant" if inherited else row.decided_by,
        expires_at=row.expires_at,
        queue_position=repo.queue_position(c, row) if state is State.PENDING else None,
    )
