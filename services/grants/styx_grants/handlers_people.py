"""The commands of people: decide, revoke, list, connect, rules, approvers."""

import hashlib

from sqlalchemy import Connection, delete, select
from styx_core.contract.grants import (
    Access,
    CheckTarget,
    Decide,
    ExtendGrant,
    GrantList,
    ListGrants,
    ListRevokedCertificates,
    ListTargets,
    PolicyText,
    PutPolicy,
    ReadPolicy,
    RevokedCertificates,
    RevokeGrant,
    SaveTarget,
    TargetList,
)
from styx_core.contract.grants_events import PolicyChanged, TargetSaved
from styx_core.contract.values import HealthAnswer, TargetView
from styx_core.errors import AlreadyDecided, Forbidden, Invalid, UnknownGrant, UnknownTarget
from styx_core.ids import new_id
from styx_core.signing import policy_payload, target_payload

from styx_grants import deciding, extending, proofs
from styx_grants import people_rows as rows
from styx_grants import repository as repo
from styx_grants.asking import policy_text
from styx_grants.deps import Deps
from styx_grants.ending import end
from styx_grants.issuing import end_leases
from styx_grants.machine import State, Step
from styx_grants.policy_draft import accepted
from styx_grants.policy_terms import DecidedBy
from styx_grants.refreshing import check
from styx_grants.requesting import access
from styx_grants.views import grant_views

REVOKE = {State.PENDING: Step.CANCEL, State.ACTIVE: Step.REVOKE}


async def decide(command: Decide, deps: Deps) -> Access:
    """A person's signed choice."""
    now = deps.now()
    return await deps.db.write(lambda c: deciding.decide(c, deps, command, now))


async def extend_grant(command: ExtendGrant, deps: Deps) -> Access:
    """Let a live grant go on, once."""
    now = deps.now()
    return await deps.db.write(lambda c: extending.extend(c, deps, command, now))


async def revoke_grant(command: RevokeGrant, deps: Deps) -> Access:
    """End a grant, or take a waiting request away, and end its leases at the provider."""
    now = deps.now()

    def save(c: Connection) -> Access:
        row = repo.grant(c, command.grant_id, lock=True)
        _may_revoke(c, command.person, row)
        step = REVOKE.get(State(row.state))
        if step is None:
            raise AlreadyDecided(f"{row.id} is already {row.state}")
        why = command.reason or f"{command.person} revoked it"
        end(c, deps, row, step, command.person, why, now)
        name = select(repo.TARGET.c.name).where(repo.TARGET.c.id == row.target_id)
        return access(c, repo.grant(c, row.id), c.execute(name).scalar_one(), row.task_id)

    answer = await deps.db.write(save)
    await end_leases(deps, command.grant_id)
    return answer


def _may_revoke(c: Connection, person: str, grant: repo.Record) -> None:
    """Ending access is for everybody who works there; a stranger learns of no grant."""
    roles = rows.roles_in(c, person, grant.project_id)
    if not roles and not rows.nobody(c):
        raise UnknownGrant(f"no grant {grant.id}")
    if roles == {"auditor"}:
        raise Forbidden("an auditor only looks; ask a member to revoke it")


async def list_grants(command: ListGrants, deps: Deps) -> GrantList:
    """Grants, newest first."""

    def look(c: Connection) -> GrantList:
        query = select(repo.GRANT).order_by(repo.GRANT.c.id.desc()).limit(command.limit)
        if command.decided_since is not None:
            query = query.where(
                repo.GRANT.c.decided_by == DecidedBy.USER,
                repo.GRANT.c.decided_at >= command.decided_since,
            )
        if command.before is not None:
            query = query.where(repo.GRANT.c.id < command.before)
        if command.projects is not None:
            query = query.where(repo.GRANT.c.project_id.in_(command.projects))
        if command.grant_id is not None:
            query = query.where(repo.GRANT.c.id == command.grant_id)
        if command.states:
            query = query.where(repo.GRANT.c.state.in_(command.states))
        return GrantList(grants=grant_views(c, c.execute(query).all()))

    return await deps.db.read(look)


async def list_targets(command: ListTargets, deps: Deps) -> TargetList:
    """Targets of a project, or of a task's project as that task sees them."""
    now = deps.now()

    def look(c: Connection) -> TargetList:
        projects = command.projects
        if command.task_id is not None:
            projects = (repo.task(c, command.task_id).project_id,)
        found = repo.targets(c, projects)
        return TargetList(
            targets=tuple(repo.target_view(c, row, command.task_id, now) for row in found)
        )

    return await deps.db.read(look)


async def check_target(command: CheckTarget, deps: Deps) -> HealthAnswer:
    """Try a target's own login, and mark what became of it."""
    query = select(repo.TARGET).where(repo.TARGET.c.id == command.target_id)
    target = await deps.db.read(lambda c: c.execute(query).one_or_none())
    if target is None:
        raise UnknownTarget(f"no target {command.target_id}; `styx targets` shows them")
    return await check(deps, target)


async def list_revoked_certificates(
    command: ListRevokedCertificates, deps: Deps
) -> RevokedCertificates:
    """The certificates of ended leases that would still open their hosts."""
    query = select(repo.LEASE.c.handle).where(
        repo.LEASE.c.ended_at.is_not(None), repo.LEASE.c.expires_at > deps.now()
    )
    found = await deps.db.read(lambda c: c.execute(query).scalars().all())
    return RevokedCertificates(
        key_ids=tuple(handle["key_id"] for handle in found if "key_id" in handle)
    )


async def save_target(command: SaveTarget, deps: Deps) -> TargetView:
    """Keep a connected target; its env is signed for, since it decides which laws bind it."""
    now = deps.now()
    payload = target_payload(
        project_id=command.project_id,
        target_id=command.target_id,
        name=command.name,
        provider=command.provider,
        env=command.env,
        nonce=command.nonce,
    )

    def save(c: Connection) -> TargetView:
        rows.must_own(c, command.person, command.project_id)
        proofs.proven_once(c, deps, command.person, payload, command.signature)
        values = command.model_dump(exclude={"target_id", "person", "nonce", "signature"})
        _forget(c, command)
        taken = [t for t in repo.targets(c, (command.project_id,)) if t.name == command.name]
        if taken:
            raise Invalid(f"name: this project has a target {command.name!r} already")
        repo.add(c, repo.TARGET, id=command.target_id, expired=False, **values)
        deps.outbox.record(
            c,
            TargetSaved(
                id=new_id("evt"),
                at=now,
                actor=command.person,
                project_id=command.project_id,
                target=command.name,
                provider=command.provider,
                env=command.env,
                label=command.label,
            ),
        )
        row = repo.target_named(c, command.project_id, command.target_id)
        return repo.target_view(c, row, None, now)

    return await deps.db.write(save)


def _forget(c: Connection, command: SaveTarget) -> None:
    """Make room for a target that is connected again. Raises `Invalid` for another project's."""
    this = repo.TARGET.c.id == command.target_id
    if c.execute(
        select(repo.TARGET).where(this, repo.TARGET.c.project_id != command.project_id)
    ).first():
        raise Invalid("target_id: it is a target of another project")
    c.execute(delete(repo.TARGET).where(this))


async def put_policy(command: PutPolicy, deps: Deps) -> PolicyText:
    """Replace a project's rules, all or none."""
    now = deps.now()
    rules = accepted(command.toml)
    payload = policy_payload(project_id=command.project_id, toml=command.toml, nonce=command.nonce)

    def save(c: Connection) -> PolicyText:
        rows.must_own(c, command.person, command.project_id)
        proofs.proven_once(c, deps, command.person, payload, command.signature)
        c.execute(delete(repo.POLICY).where(repo.POLICY.c.project_id == command.project_id))
        repo.add(c, repo.POLICY, project_id=command.project_id, toml=command.toml)
        deps.outbox.record(
            c,
            PolicyChanged(
                id=new_id("evt"),
                at=now,
                actor=command.person,
                project_id=command.project_id,
                rules=len(rules),
                sha256=hashlib.sha256(command.toml.encode()).hexdigest(),
            ),
        )
        return PolicyText(toml=command.toml)

    return await deps.db.write(save)


async def read_policy(command: ReadPolicy, deps: Deps) -> PolicyText:
    """A project's rules as their text."""
    return PolicyText(toml=await deps.db.read(lambda c: policy_text(c, command.project_id)))
