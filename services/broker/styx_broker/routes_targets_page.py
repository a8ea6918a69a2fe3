"""Targets as a page: what agents may reach, whether its login works, and who holds what there."""

from fastapi import APIRouter, Request
from starlette.responses import Response
from styx_core.contract.grants import ListGrants, ListTargets

from styx_broker import repository as repo
from styx_broker.auth import TheDeps
from styx_broker.cards import quoted
from styx_broker.rendering import page
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)


@router.get("/targets")
async def targets(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Targets by project, each with the grants that live on it."""
    found = (await deps.bus.request(ListTargets(projects=caller.projects))).targets
    live = ListGrants(projects=caller.projects, states=("active",), limit=1000)
    grants = (await deps.bus.request(live)).grants
    rows = await deps.db.read(lambda c: repo.projects(c, caller.projects))
    shown = {
        "projects": [(row, [t for t in found if t.project_id == row.id]) for row in rows],
        "held": {t.id: [g for g in grants if (g.project_id, g.target) == (t.project_id, t.name)]
                 for t in found},
        "standing": "always",
        "changes": {"write", "deploy", "delete"},
        "may_end": {row.id for row in rows if caller.may(row.id, "owner", "approver", "member")},
        "labels": {p.id: p.label for p in deps.catalog.providers.values()},
        "owned": {row.id for row in rows if caller.may(row.id, "owner")},
        "disabled": deps.catalog.disabled,
        "quoted": quoted,
    }  # fmt: skip
    return page("targets.html", frame(request, caller, "targets") | shown)
