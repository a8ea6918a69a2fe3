"""The commands of an agent's call: admit, authorize, ask, check, use, report, retire."""

from sqlalchemy import Connection, select, update
from styx_core.contract.base import Done
from styx_core.contract.grants import (
    Access,
    AdmitTask,
    Authorize,
    Authorized,
    CheckGrant,
    GetCredential,
    ReportUse,
    RequestAccess,
    RetireTask,
)
from styx_core.contract.grants_events import TaskAdmitted, UseReported
from styx_core.errors import Forbidden, GrantOver, Invalid, UnknownGrant
from styx_core.ids import new_id
from styx_core.scope import Scope

from styx_grants import nearest
from styx_grants import repository as repo
from styx_grants.asking import Asked
from styx_grants.deadlines import DEFAULT, Duration, due
from styx_grants.deps import Deps
from styx_grants.ending import WHY, end, end_task
from styx_grants.issuing import Call, end_leases, issue
from styx_grants.machine import State, Step
from styx_grants.refreshing import connected
from styx_grants.requesting import access, open_request, usable


async def admit_task(command: AdmitTask, deps: Deps) -> Done:
    """Keep the task's own row: later commands name it by id only."""
    now = deps.now()

    def save(c: Connection) -> None:
        fields = ("project_id", "agent", "person", "worktree", "branch")
        values = {name: getattr(command, name) for name in fields}
        repo.add(c, repo.TASK, id=command.task_id, ended=False, **values)
        deps.outbox.record(
            c,
            TaskAdmitted(
                id=new_id("evt"),
                at=now,
                actor=command.person,
                project_id=command.project_id,
                task_id=command.task_id,
                agent=command.agent,
                person=command.person,
            ),
        )

    await deps.db.write(save)
    return Done()


async def retire_task(command: RetireTask, deps: Deps) -> Done:
    """End the task and all that it holds."""
    now = deps.now()

    def save(c: Connection) -> None:
        c.execute(update(repo.TASK).where(repo.TASK.c.id == command.task_id).values(ended=True))
        end_task(c, deps, command.task_id, now)

    await deps.db.write(save)
    await end_leases(deps)
    return Done()


async def authorize(command: Authorize, deps: Deps) -> Authorized:
    """One call at a shim: covered by a live grant, decided by policy, or waiting for a person."""
    now = deps.now()
    asked = Asked(
        scopes=frozenset(command.scopes),
        command=command.command,
        digest=command.command_digest,
        exact=command.exact,
        surface=command.surface,
        operation=command.operation,
        understood=command.understood,
    )

    def find(c: Connection) -> tuple[repo.Record, repo.Record, repo.Record | None]:
        task = repo.task(c, command.task_id)
        target = repo.choose_target(c, task, command.provider, command.target, command.host, now)
        grants = usable(c, deps, task, target, asked, now)
        return task, target, repo.covering(grants, asked.scopes, asked.digest, command.exec_id)

    task, target, grant = await deps.db.glance(find)
    if grant is None:
        await connected(deps, target)

        def open_it(c: Connection) -> tuple[repo.Record, Access]:
            row = open_request(c, deps, task, target, asked, now)
            return row, access(c, row, target.name, task.id)

        opened, standing = await deps.db.write(open_it)
        if standing.status != "active":
            return Authorized(access=standing)
        grant = opened
    return await issue(deps, target, grant, _call(command))


def _call(command: Authorize) -> Call:
    names = Call.__dataclass_fields__
    return Call(**{name: getattr(command, name) for name in names})


async def request_access(command: RequestAccess, deps: Deps) -> Access:
    """An agent asks ahead; what a live grant covers makes no new request."""
    now = deps.now()
    asked = Asked(
        scopes=frozenset(command.scopes),
        command=command.command,
        digest=command.command_digest,
        exact=command.exact,
        surface=command.surface,
        operation=command.operation,
        understood=command.understood or "asked ahead by the agent",
        reason=command.reason,
        duration=Duration(command.duration) if command.duration else DEFAULT,
    )
    if asked.duration is Duration.ONCE and asked.digest is None:
        raise Invalid("duration: `once` is for one command; name it, or ask for another duration")

    def find(c: Connection) -> tuple[repo.Record, repo.Record]:
        task = repo.task(c, command.task_id)
        return task, repo.target_named(c, task.project_id, command.target)

    def ask(c: Connection) -> Access:
        task, target = find(c)
        live = usable(c, deps, task, target, asked, now)
        lasting = [grant for grant in live if grant.duration != Duration.ONCE]
        row = repo.covering(lasting, asked.scopes, None, None)
        row = row or open_request(c, deps, task, target, asked, now)
        return nearest.told(c, deps, task, target, row, now)

    _, wanted = await deps.db.glance(find)
    await connected(deps, wanted)
    return await deps.db.write(ask)


async def check_grant(command: CheckGrant, deps: Deps) -> Access:
    """Where a request stands."""
    now = deps.now()

    def look(c: Connection) -> Access:
        task = repo.task(c, command.task_id)
        row = repo.task_grant(c, task, command.grant_id)
        target = c.execute(select(repo.TARGET).where(repo.TARGET.c.id == row.target_id)).one()
        return nearest.told(c, deps, task, target, row, now)

    return await deps.db.read(look)


async def get_credential(command: GetCredential, deps: Deps) -> Authorized:
    """A live grant's credential, for an agent that calls the provider's API itself.

    In its hands the credential can do any command, so policy is asked as for one that is not named.
    """
    now = deps.now()

    def find(c: Connection) -> tuple[repo.Record, repo.Record, Access | None]:
        task = repo.task(c, command.task_id)
        row = repo.task_grant(c, task, command.grant_id)
        if row.state != State.ACTIVE or due(repo.times(row), now) is not None:
            state = State.EXPIRED if row.state == State.ACTIVE else row.state
            raise GrantOver(f"this grant is {state}; ask again with request_access")
        if row.duration == Duration.ONCE:
            raise Forbidden("this grant is for one command alone; run it, its tool is let through")
        target = c.execute(select(repo.TARGET).where(repo.TARGET.c.id == row.target_id)).one()
        scopes = frozenset(Scope(scope) for scope in row.scopes)
        asked = Asked(scopes, understood="the credential itself, for any command")
        if row.id in {grant.id for grant in usable(c, deps, task, target, asked, now)}:
            return target, row, None
        opened = open_request(c, deps, task, target, asked, now)
        return target, row, access(c, opened, target.name, task.id)

    target, grant, standing = await deps.db.write(find)
    if standing is not None:
        return Authorized(access=standing)
    call = Call(command.task_id, command.exec_id, command.edge_key, command.public_key)
    return await issue(deps, target, grant, call)


async def report_use(command: ReportUse, deps: Deps) -> Done:
    """A wrapped command ended; a grant that was for it alone is spent."""
    now = deps.now()

    def save(c: Connection) -> bool:
        task = repo.task(c, command.task_id)
        query = select(repo.USE).where(
            repo.USE.c.id == command.exec_id, repo.USE.c.task_id == task.id
        )
        use = c.execute(query).one_or_none()
        if use is None or use.exit_code is not None:
            raise UnknownGrant("no call with this id is under way in this task")
        done = update(repo.USE).where(repo.USE.c.id == use.id)
        c.execute(done.values(exit_code=command.exit_code))
        row = repo.grant(c, use.grant_id, lock=True)
        name = select(repo.TARGET.c.name).where(repo.TARGET.c.id == row.target_id)
        deps.outbox.record(
            c,
            UseReported(
                id=new_id("evt"),
                at=now,
                actor=task.id,
                project_id=task.project_id,
                task_id=task.id,
                grant_id=row.id,
                target=c.execute(name).scalar_one(),
                exec_id=use.id,
                exit_code=command.exit_code,
            ),
        )
        spent: bool = row.state == State.ACTIVE and row.duration == Duration.ONCE
        if spent:
            end(c, deps, row, Step.SPEND, task.id, WHY[Step.SPEND], now)
        return spent

    if await deps.db.write(save):
        await end_leases(deps)
    return Done()
