"""The pages: sign-in, the links that people come in by, and what waits for a decision."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from sqlalchemy import select
from starlette.responses import Response
from styx_core.contract.grants import ListGrants, ListTargets
from styx_core.contract.values import GrantView, Id, TargetView
from styx_core.errors import UnknownGrant
from styx_core.revocable import EFFECT

from styx_broker import repository as repo
from styx_broker.auth import Caller, TheDeps
from styx_broker.cards import Card, alike, card, just_decided, waiting
from styx_broker.deps import Deps
from styx_broker.rendering import page, static
from styx_broker.viewing import AtHome, TheViewer, frame

router = APIRouter(include_in_schema=False)

PAGE, MOST_CARDS = 200, 100
"""Requests asked for at once, and shown at once."""


@router.get("/static/{digest}/{name}")
async def file(digest: str, name: str) -> Response:
    """A script, style or picture of ours."""
    return static(digest, name) or Response("no such file", 404, media_type="text/plain")


@router.get("/signin")
async def sign_in(request: Request, deps: TheDeps, _: AtHome, next: str = "/") -> Response:
    """Where strangers are led."""
    return page("signin.html", {"next": own_path(next), "oidc": deps.settings.oidc_issuer})


def own_path(where: str) -> str:
    """A path of ours to go on to; anything else is the first page (no open redirect)."""
    plain = where.startswith("/") and not where.startswith(("//", "/\\")) and where.isprintable()
    return where if plain and where.isascii() and "\\" not in where else "/"


@router.get("/admin")
@router.get("/join")
async def join(_: AtHome, deps: TheDeps) -> Response:
    """Where the admin link and invitations lead. The code stands after `#`: no server sees it."""
    return page("join.html", {"first": not await deps.db.read(repo.claimed)})


@router.get("/")
async def approvals(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """What waits, the riskiest first."""
    return page("approvals.html", frame(request, caller, "approvals") | await _cards(deps, caller))


@router.get("/approvals/cards")
async def cards(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """The same without its frame, for a page that was told to look again."""
    return page("cards.html", frame(request, caller, "approvals") | await _cards(deps, caller))


@router.get("/grants/{grant_id}")
async def one(grant_id: Id, request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Where a waiting call's link leads."""
    query = ListGrants(projects=caller.projects, grant_id=grant_id)
    found = (await deps.bus.request(query)).grants
    if not found:
        raise UnknownGrant(f"no grant {grant_id}")
    places = await _places(deps, caller)
    made = await _with_tasks(deps, found, places)
    shown = {"cards": made, "alike": {}, "more": 0, "decided": [], "grant": found[0]}
    shown |= {"places": places}
    return page("grant.html", frame(request, caller, "approvals") | shown)


async def _cards(deps: Deps, caller: Caller) -> dict[str, Any]:
    pending = await _pending(deps, caller.projects)
    settled = ("active", "denied", "expired", "cancelled", "revoked", "spent")
    recent = ListGrants(projects=caller.projects, states=settled, limit=50)
    decided = just_decided((await deps.bus.request(recent)).grants, deps.now())
    places = await _places(deps, caller)
    shown = await _with_tasks(deps, waiting(pending)[:MOST_CARDS], places)
    return {
        "cards": shown,
        "alike": alike(shown),
        "more": len(pending) - len(shown),
        "decided": decided,
        "places": places,
    }


async def _places(deps: Deps, caller: Caller) -> dict[str, list[TargetView]]:
    """The targets of each project, for an offer of another one."""
    places = defaultdict(list)
    for target in (await deps.bus.request(ListTargets(projects=caller.projects))).targets:
        places[target.project_id].append(target)
    return places


async def _pending(deps: Deps, projects: tuple[str, ...] | None) -> list[GrantView]:
    """All that waits; asked for in parts, for a message on the bus has an end."""
    found: list[GrantView] = []
    while True:
        before = found[-1].id if found else None
        query = ListGrants(projects=projects, states=("pending",), before=before, limit=PAGE)
        part = (await deps.bus.request(query)).grants
        found.extend(part)
        if len(part) < PAGE:
            return found


async def _with_tasks(
    deps: Deps, grants: Sequence[GrantView], places: Mapping[str, list[TargetView]]
) -> list[Card]:
    ids = {grant.task_id for grant in grants}
    query = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None))
    rows = await deps.db.read(lambda c: c.execute(query).all())
    tasks = {row.id: row._asdict() for row in rows if row.id in ids}
    ways = {(t.project_id, t.name): t.config.get("method") for at in places.values() for t in at}
    return [
        card(
            grant,
            tasks.get(grant.task_id or "", {}),
            _revoke(deps, grant, ways.get((grant.project_id, grant.target))),
        )
        for grant in grants
    ]


def _revoke(deps: Deps, grant: GrantView, method: str | None) -> str:
    """What a revoke could do, at the least, to what this would hand out."""
    provider = deps.catalog.providers.get(grant.provider)
    way = provider.method(method) if provider is not None and method is not None else None
    return "" if way is None else EFFECT[way.revocable]
