"""A person's decision: the signature is checked here, against rows and keys of this service."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, select
from styx_core.contract.grants import Access, Choice, Decide
from styx_core.contract.grants_events import ApprovalGiven, GrantDecided
from styx_core.errors import AlreadyDecided, Forbidden, Invalid
from styx_core.ids import new_id
from styx_core.scope import Scope, ordered
from styx_core.signing import decision_payload
from styx_core.telemetry import DECISIONS

from styx_grants import people_rows as rows
from styx_grants import proofs
from styx_grants import repository as repo
from styx_grants.asking import Asked, evaluate
from styx_grants.deadlines import Duration, due, expires_at
from styx_grants.deps import Deps
from styx_grants.machine import State, Step, apply
from styx_grants.offering import Made, keep, offered
from styx_grants.policy_terms import Effect
from styx_grants.requesting import access


@dataclass(frozen=True)
class _Case:
    """One decision under way: who decides what, on which rows, and the text that they signed."""

    command: Decide
    grant: repo.Record
    target: repo.Record
    payload: str
    now: datetime


@dataclass(frozen=True)
class Meant:
    """What a choice comes to, once read against the request."""

    scopes: tuple[Scope, ...]
    duration: Duration
    offer: Made | None


def decide(c: Connection, deps: Deps, command: Decide, now: datetime) -> Access:
    """Apply one person's signed choice. Raises our errors; nothing is changed then."""
    choice = command.choice
    grant = repo.grant(c, choice.grant_id, lock=True)
    if rows.DECIDING.isdisjoint(rows.roles_in(c, command.person, grant.project_id)):
        raise Forbidden(f"{command.person} is not an approver here")
    target = c.execute(select(repo.TARGET).where(repo.TARGET.c.id == grant.target_id)).one()
    scopes = _chosen_scopes(grant, choice)
    offer = offered(c, deps, command, grant, now)
    duration = Duration(choice.duration) if choice.duration else Duration(grant.duration)
    meant = Meant(scopes, duration, offer)
    payload = _signed(c, deps, command, grant, target, meant)
    if grant.state != State.PENDING or due(repo.times(grant), now) is not None:
        raise AlreadyDecided(_who(grant))
    case = _Case(command, grant, target, payload, now)
    if choice.verdict == "deny":
        _deny(c, deps, case, offer)
    else:
        _approve(c, deps, case, scopes, duration)
    return access(c, repo.grant(c, grant.id), target.name, grant.task_id)


def _deny(c: Connection, deps: Deps, case: _Case, offer: Made | None) -> None:
    if offer is not None:
        keep(c, offer, case.command, case.grant.task_id, case.payload, case.now)
    _settle(c, deps, case, Step.DENY, {}, offer)


def _signed(
    c: Connection,
    deps: Deps,
    command: Decide,
    grant: repo.Record,
    target: repo.Record,
    meant: Meant,
) -> str:
    payload = decision_payload(
        grant_id=grant.id,
        verdict=command.choice.verdict,
        target=target.name,
        env=target.env,
        scopes=meant.scopes,
        duration=meant.duration,
        command=grant.command,
        offer=None if meant.offer is None else meant.offer.signed(),
    )
    mfa = (
        grant.mfa if command.choice.verdict == "approve" else bool(meant.offer and meant.offer.mfa)
    )
    proofs.proven(c, deps, command.person, payload, command.signature, mfa=mfa)
    return payload


def _chosen_scopes(grant: repo.Record, choice: Choice) -> tuple[Scope, ...]:
    """What is approved: all that was asked, or less. Raises `Invalid` for more."""
    asked = {Scope(s) for s in grant.scopes}
    chosen = set(choice.scopes) or asked
    if not chosen <= asked:
        more = ", ".join(ordered(chosen - asked))
        raise Invalid(f"scopes: {more} was not asked for; an approval can only narrow")
    return ordered(chosen)


def _who(grant: repo.Record) -> str:
    by = grant.decided_person or grant.decided_by or "its own end"
    state = State.EXPIRED if grant.state == State.PENDING else grant.state
    return f"{grant.id} is already {state} ({by})"


def _approve(
    c: Connection, deps: Deps, case: _Case, scopes: tuple[Scope, ...], duration: Duration
) -> None:
    grant, person = case.grant, case.command.person
    if duration is Duration.ONCE and not grant.command_digest:
        raise Invalid("duration: `once` is for a command that waits; this request names none")
    may_approve(c, person, grant)
    still_askable(c, deps, grant, case.target, scopes, case.now)
    said = {"scopes": list(scopes), "duration": duration}
    earlier = list(c.execute(select(repo.APPROVAL).where(repo.APPROVAL.c.grant_id == grant.id)))
    if any(row.person == person for row in earlier):
        raise AlreadyDecided(f"you have approved {grant.id} already; it waits for others")
    if any(row.choice != said for row in earlier):
        raise AlreadyDecided("another approver narrowed this request otherwise; agree on one")
    repo.add(
        c,
        repo.APPROVAL,
        grant_id=grant.id,
        person=person,
        choice=said,
        payload=case.payload,
        signature=proofs.text(case.command.signature),
        at=case.now,
    )
    if len(earlier) + 1 < grant.quorum:
        deps.outbox.record(c, _one_of_several(case, scopes, len(earlier) + 1))
        return
    until = expires_at(duration, case.now, grant.max_seconds)
    values = {"scopes": list(scopes), "duration": duration, "expires_at": until}
    _settle(c, deps, case, Step.APPROVE, values)


def may_approve(c: Connection, person: str, grant: repo.Record) -> None:
    """Raises `Forbidden` unless policy lets this person approve this request."""
    if not grant.approvable:
        raise Forbidden(f"nobody can approve this: {grant.why}")
    task = c.execute(select(repo.TASK).where(repo.TASK.c.id == grant.task_id)).one()
    if task.person == person and not grant.own_agent:
        raise Forbidden("the policy wants somebody else than the agent's own person to approve")
    roles = rows.roles_in(c, person, grant.project_id)
    names = {person, *(f"role:{role}" for role in roles)}
    if grant.approvers is not None and names.isdisjoint(grant.approvers):
        raise Forbidden(f"the policy lets only {', '.join(grant.approvers)} approve this")


def still_askable(
    c: Connection,
    deps: Deps,
    grant: repo.Record,
    target: repo.Record,
    scopes: tuple[Scope, ...],
    now: datetime,
) -> None:
    """Raises `Forbidden` where the policy has come to deny this since it was asked."""
    task = c.execute(select(repo.TASK).where(repo.TASK.c.id == grant.task_id)).one()
    asked = Asked(frozenset(scopes), tuple(grant.command), surface=grant.surface)
    decision = evaluate(c, deps, task, target, asked, now)
    if decision.effect is Effect.DENY:
        raise Forbidden(f"nobody can approve this any more: {decision.why}")


def _settle(
    c: Connection,
    deps: Deps,
    case: _Case,
    step: Step,
    values: Mapping[str, object],
    offer: Made | None = None,
) -> None:
    grant, person, choice = case.grant, case.command.person, case.command.choice
    why = f"{person}: {choice.reason}" if choice.reason else grant.why
    if offer is not None:
        why = f"{why}; {person} offers {offer.words()} instead: ask for just that, and it is yours"
    repo.set_grant(
        c,
        grant.id,
        state=apply(State(grant.state), step).state,
        decided_by="user",
        decided_person=person,
        decided_at=case.now,
        why=why,
        **values,
    )
    DECISIONS.labels(choice.verdict, "user").inc()
    deps.outbox.record(c, _told(case, repo.grant(c, grant.id)))


def _one_of_several(case: _Case, scopes: tuple[Scope, ...], given: int) -> ApprovalGiven:
    row = case.grant
    return ApprovalGiven(
        id=new_id("evt"),
        at=case.now,
        actor=case.command.person,
        project_id=row.project_id,
        task_id=row.task_id,
        grant_id=row.id,
        target=case.target.name,
        scopes=scopes,
        command=tuple(row.command),
        given=given,
        quorum=row.quorum,
        payload=case.payload,
        signature=proofs.text(case.command.signature),
    )


def _told(case: _Case, row: repo.Record) -> GrantDecided:
    return GrantDecided(
        id=new_id("evt"),
        at=case.now,
        actor=case.command.person,
        project_id=row.project_id,
        task_id=row.task_id,
        grant_id=row.id,
        target=case.target.name,
        scopes=ordered(Scope(s) for s in row.scopes),
        command=tuple(row.command),
        verdict=case.command.choice.verdict,
        decided_by="user",
        because=tuple(row.because),
        why=row.why,
        expires_at=row.expires_at,
        payload=case.payload,
        signature=proofs.text(case.command.signature),
    )
