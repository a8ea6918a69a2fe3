"""Server-sent events for open pages (WHATWG HTML, section 9.2)."""

from collections.abc import AsyncIterator

from fastapi import APIRouter
from starlette.responses import StreamingResponse

from styx_broker.auth import TheCaller, TheDeps
from styx_broker.deps import Deps

router = APIRouter(tags=["people"])


@router.get("/v1/changes", include_in_schema=False)
async def changes(deps: TheDeps, caller: TheCaller) -> StreamingResponse:
    """Wake this page whenever something that it may show has changed."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _told(deps, caller.projects), headers=headers, media_type="text/event-stream"
    )


async def _told(deps: Deps, projects: tuple[str, ...] | None) -> AsyncIterator[str]:
    yield "retry: 1000\n\n"
    async for _ in deps.live.changes(projects):
        yield "event: changed\ndata: look\n\n"
