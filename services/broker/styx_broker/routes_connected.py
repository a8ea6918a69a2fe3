"""Connected clients over HTTP: listed, revoked."""

from datetime import datetime

from fastapi import APIRouter
from sqlalchemy import Connection
from styx_core.contract.values import Id
from styx_core.errors import UnknownKey

from styx_broker import connected
from styx_broker import repository as repo
from styx_broker.auth import Caller, TheCaller, TheDeps, ThePerson
from styx_broker.ending import retire
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["clients"])


class ClientSeen(Body):
    """A connected client; `client` is its own words."""

    id: str
    client: str
    project_id: str
    person: str
    task_id: str
    made_at: datetime
    used_at: datetime


@router.get("/v1/clients")
async def listed(deps: TheDeps, caller: TheCaller) -> list[ClientSeen]:
    """The caller's own clients, and of a project that they own everybody's; newest first."""
    rows = await deps.db.read(lambda c: connected.of_projects(c, caller.projects))
    return [_seen(row) for row in rows if _theirs(row, caller)]


@router.post("/v1/clients/{connection_id}/revoke")
async def revoke(connection_id: Id, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """End a client's access now: its person does, or an owner of its project."""

    def save(c: Connection) -> str:
        row = connected.find(c, connection_id)
        if row is None or not _theirs(row, person):
            raise UnknownKey(f"no connected client {connection_id} that you may revoke")
        connected.end(c, deps, row, person.name, f"{person.name} revoked its access")
        return str(row.task_id)

    await retire(deps, await deps.db.write(save))
    return {"revoked": connection_id}


def _theirs(row: repo.Record, caller: Caller) -> bool:
    return bool(row.person == caller.name or caller.may(row.project_id, "owner"))


def _seen(row: repo.Record) -> ClientSeen:
    return ClientSeen(**{name: getattr(row, name) for name in ClientSeen.model_fields})
