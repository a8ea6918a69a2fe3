"""Projects and tasks: what `styx run` begins and ends with."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, select
from sqlalchemy.exc import IntegrityError
from styx_core.contract.broker import ProjectCreated
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.contract.values import Id, Line, Name
from styx_core.errors import Forbidden, Invalid, UnknownTask
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker.auth import TheCaller, TheDeps, project_for
from styx_broker.deps import Deps
from styx_broker.ending import end_task as end
from styx_broker.ending import retire
from styx_broker.starting import start
from styx_broker.tokens import fingerprint, new_token

router = APIRouter(tags=["tasks"])


class Body(BaseModel):
    """A request's body: an unknown key is refused by name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewProject(Body):
    """A project to make."""

    name: Name


class NewTask(Body):
    """A task to start."""

    project: Name | None = None
    agent: Name = "agent"
    name: Line = ""
    branch: Line | None = None
    worktree: Line | None = None


class Started(Body):
    """A task, with its token for this once, and what its agent's environment needs."""

    id: str
    token: str
    project: str
    url: str
    tools: dict[str, str]
    strip: list[str]
    quiet: dict[str, str]


@router.get("/v1/projects")
async def projects(deps: TheDeps, caller: TheCaller) -> list[dict[str, str]]:
    """The projects that the caller sees, by name."""
    rows = await deps.db.read(lambda c: repo.projects(c, caller.projects))
    return [{"id": row.id, "name": row.name} for row in rows]


@router.post("/v1/projects", status_code=201)
async def create_project(body: NewProject, deps: TheDeps, caller: TheCaller) -> dict[str, str]:
    """Make a project."""
    if not caller.may(EVERYWHERE, "owner"):
        raise Forbidden("only an owner of this Styx makes projects")
    project_id, now = new_id("prj"), deps.now()

    def save(c: Connection) -> None:
        try:
            repo.add(c, repo.PROJECT, id=project_id, name=body.name)
        except IntegrityError:
            raise Invalid(f"name: there is a project {body.name!r} already") from None
        deps.outbox.record(
            c,
            ProjectCreated(
                id=new_id("evt"),
                at=now,
                actor=caller.name,
                project_id=project_id,
                name=body.name,
            ),
        )

    await deps.db.write(save)
    return {"id": project_id, "name": body.name}


@router.post("/v1/tasks", status_code=201)
async def start_task(body: NewTask, deps: TheDeps, caller: TheCaller) -> Started:
    """Start a task."""
    project = await project_for(deps, caller, body.project, "owner", "approver", "member")
    token = new_token("tsk")
    about = body.model_dump(exclude={"project"})
    task_id = await start(deps, project.id, fingerprint(token), person=caller.name, **about)
    return _started(deps, task_id, token, project.name)


def _started(deps: Deps, task_id: str, token: str, project: str) -> Started:
    providers = deps.catalog.providers.values()
    return Started(
        id=task_id,
        token=token,
        project=project,
        url=deps.settings.public_url,
        tools={tool.name: p.kind for p in providers for tool in p.tools},
        strip=sorted(deps.catalog.strip),
        quiet={name: value for p in providers for name, value in p.quiet.items()},
    )


@router.post("/v1/tasks/{task_id}/end")
async def end_task(task_id: Id, deps: TheDeps, caller: TheCaller) -> dict[str, str]:
    """End a task: its token dies first, then all that it holds."""

    def save(c: Connection) -> None:
        row = end(c, deps, task_id, caller.name, "its agent exited")
        if not caller.may(row.project_id, "owner", "approver", "member"):
            raise UnknownTask(f"no running task {task_id[:40]!r}")

    await deps.db.write(save)
    await retire(deps, task_id)
    return {"id": task_id, "state": "ended"}


@router.get("/v1/tasks")
async def tasks(deps: TheDeps, caller: TheCaller) -> list[dict[str, str | None]]:
    """Running tasks that the caller sees, newest first."""
    query = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None))
    if caller.projects is not None:
        query = query.where(repo.TASK.c.project_id.in_(caller.projects))
    rows = await deps.db.read(lambda c: c.execute(query.order_by(repo.TASK.c.id.desc())).all())
    shown = ("id", "project_id", "agent", "person", "name", "branch")
    return [
        {n: getattr(row, n) for n in shown} | {"started_at": row.started_at.isoformat()}
        for row in rows
    ]
