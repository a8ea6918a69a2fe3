"""Connecting a target by a form that its provider declares.

Only ways without a secret: a secret is sealed where it is typed, to the adapters' key, with post-
quantum HPKE, which browsers can't do. For those ways the page shows the terminal's line instead.
"""

from string import Template
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response
from styx_core.contract.values import Name
from styx_core.errors import Invalid
from styx_core.ids import new_id
from styx_core.provider import Method, Provider

from styx_broker import sessions
from styx_broker.auth import TheDeps, project_for
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
) -> Response:
    """First which provider and way, then the form of that way."""
    found = await project_for(deps, caller, project, "owner")
    known = deps.catalog.providers
    shown: dict[str, object] = {"project": found, "providers": known.values(), "envs": ENVS}
    shown |= {"chosen": None, "way": None, "target_id": new_id("tgt"), "prepare": ""}
    if provider is not None:
        if provider not in known:
            raise Invalid(f"provider: one of {', '.join(sorted(known))}")
        chosen = known[provider]
        way = _way(chosen, method)
        prepare = _prepare(deps, way, str(shown["target_id"]))
        shown |= {"chosen": chosen, "way": way, "prepare": prepare}
    return page("connect.html", frame(request, caller, "targets") | shown)


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
