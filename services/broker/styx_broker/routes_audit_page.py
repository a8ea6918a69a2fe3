"""The log as a page: it asks the audit service itself, so nothing of the log comes through here."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from styx_broker.rendering import page
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)


@router.get("/audit-log")
async def log(request: Request, caller: TheViewer) -> Response:
    """Search, one entry with its proof, and the export."""
    return page("audit.html", frame(request, caller, "audit"))
