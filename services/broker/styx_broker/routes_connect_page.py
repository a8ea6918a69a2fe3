"""Connecting a target, or one again, by a form that its provider declares.

Only ways without a secret: a secret is sealed where it is typed, to the adapters' key, with post-
quantum HPKE, which browsers can't do. For those ways the page shows the terminal's line instead.
"""

from string import Template
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response
from styx_core.contract.grants import ListTargets
from styx_core.contract.values import Id, Name, TargetView
from styx_core.errors import Invalid, UnknownTarget
from styx_core.ids import new_id
from styx_core.provider import Method, Provider

from styx_broker import sessions
from styx_broker.auth import Caller, TheDeps, project_for
from styx_broker.deps import Deps
from styx_broker.rendering import page
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)

ENVS = ("prod", "staging", "preview", "scm")
Chosen = Annotated[Name | None, Query()]


@router.get("/targets/connect")
async def connect(
    request: Request,
    deps: TheDeps,
    caller: TheViewer,
    project: Chosen = None,
    provider: Chosen = None,
    method: Chosen = None,
    target: Annotated[Id | None, Query()] = None,
) -> Response:
    """First which provider and way, then the form of that way; filled in for a known target."""
    again = None if target is None else await _known(deps, caller, target)
    if again is not None:
        project, provider = again.project_id, again.provider
        method = method or again.config.get("method")
    found = await project_for(deps, caller, project, "owner")
    known = deps.catalog.providers
    listed = [p for p in known.values() if again is None or p.id == again.provider]
    shown: dict[str, object] = {"project": found, "providers": listed, "envs": ENVS}
    shown |= {"again": again, "target_id": target or new_id("tgt")}
    shown |= {"chosen": None, "way": None, "prepare": ""}
    if provider is not None:
        if provider not in known:
            raise Invalid(f"provider: one of {', '.join(sorted(known))}")
        chosen = known[provider]
        way = _way(chosen, method)
        prepare = _prepare(deps, way, str(shown["target_id"]))
        shown |= {"chosen": chosen, "way": way, "prepare": prepare}
    return page("connect.html", frame(request, caller, "targets") | shown)


async def _known(deps: Deps, caller: Caller, target_id: str) -> TargetView:
    """A target that the caller sees. Raises `UnknownTarget`."""
    listed = await deps.bus.request(ListTargets(projects=caller.projects))
    for each in listed.targets:
        if each.id == target_id:
            return each
    raise UnknownTarget(f"no target {target_id}; the page Targets shows them")


def _way(provider: Provider, named: str | None) -> Method:
    """A way to connect, the CLI's own login first where adapters run beside it."""
    ways = {method.name: method for method in provider.methods}
    if named is not None and named not in ways:
        raise Invalid(f"method: {provider.id} has {', '.join(ways)}")
    return ways[named] if named is not None else next(iter(ways.values()))


def _prepare(deps: Deps, way: Method, target_id: str) -> str:
    issuer = deps.settings.public_url
    return Template(way.prepare).safe_substitute(
        target=target_id,
        issuer=issuer,
        issuer_host=issuer.partition("://")[2],
        styx=sessions.web_origin(deps),
        ssh_ca=deps.catalog.public.get("ssh_ca", ""),
    )
