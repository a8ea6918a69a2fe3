"""The log as a page: it asks the audit service itself, so nothing of the log comes through here."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from styx_broker import repository as repo
from styx_broker.auth import TheDeps
from styx_broker.rendering import page
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)


@router.get("/audit-log")
async def log(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Search, one entry with its proof, and the export; of one project at a time for whoever has
    a role in some alone."""
    theirs = () if caller.projects is None else caller.projects
    places = await deps.db.read(lambda c: repo.projects(c, theirs)) if theirs else []
    return page("audit.html", frame(request, caller, "audit") | {"places": places})
