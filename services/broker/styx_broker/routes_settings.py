"""Settings: people, their keys and invitations, and the line that connects an agent."""

from datetime import timedelta

from fastapi import APIRouter, Request
from starlette.responses import Response
from styx_core.contract.grants import ListGrants
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.contract.values import GrantView

from styx_broker import repository as repo
from styx_broker import sessions
from styx_broker.api_keys import MAY
from styx_broker.approval_load import DAYS, Load, loads
from styx_broker.auth import Caller, TheDeps
from styx_broker.deps import Deps
from styx_broker.notices import KINDS
from styx_broker.rendering import page
from styx_broker.routes_api_keys import listed as api_keys_of
from styx_broker.routes_channels import dead_letters
from styx_broker.routes_channels import listed as channels_of
from styx_broker.routes_connected import listed as clients_of
from styx_broker.routes_members import people
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)

MOST_DECISIONS = 1000
MEANING = {
    "owner": "may do everything, and invite others",
    "approver": "decides what agents ask for",
    "member": "runs agents, and ends what they hold",
    "auditor": "only looks",
}


@router.get("/settings")
async def settings(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Who is here, by which keys, and how agents come in."""
    projects = await deps.db.read(lambda c: repo.projects(c, caller.projects))
    own = [row for row in projects if caller.may(row.id, "owner")]
    shown = {
        "people": await people(deps, caller),
        "places": {EVERYWHERE: "all projects"} | {row.id: row.name for row in projects},
        "invites_to": ([(EVERYWHERE, "all projects")] if caller.may(EVERYWHERE, "owner") else [])
        + [(row.id, row.name) for row in own],
        "roles": MEANING,
        "api_keys": await api_keys_of(deps, caller),
        "keys_in": projects,
        "clients": await clients_of(deps, caller),
        "may": MAY,
        "channels": await channels_of(deps, caller),
        "dead_letters": await dead_letters(deps, caller),
        "kinds": KINDS,
        "address": deps.settings.public_url,
        "web": sessions.web_origin(deps),
        "everywhere": caller.may(EVERYWHERE, "owner"),
        "loads": await _loads(deps, caller),
    }
    return page("settings.html", frame(request, caller, "settings") | shown)


async def _loads(deps: Deps, caller: Caller) -> list[Load]:
    """Of the newest thousand decisions of the last days."""
    since = deps.now() - timedelta(days=DAYS)
    query = ListGrants(projects=caller.projects, decided_since=since, limit=200)
    found: list[GrantView] = []
    while len(found) < MOST_DECISIONS:
        part = (await deps.bus.request(query)).grants
        found.extend(part)
        if len(part) < query.limit:
            break
        query = query.model_copy(update={"before": part[-1].id})
    return loads(found)
