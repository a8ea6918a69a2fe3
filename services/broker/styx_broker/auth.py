"""Who is calling: an agent by its task's token, a person by their bearer, or this machine's owner.

The embedded stack also listens on a unix socket that only the owner of its data folder can reach.
Who comes through it may do what harms nobody (start and end tasks, look, revoke) without a token;
deciding always needs the approver's signature, which no socket can give.
"""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from styx_core.errors import Forbidden, Unauthenticated

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.tokens import fingerprint

LOCAL_OWNER = "owner"


def deps_of(request: Request) -> Deps:
    """The service's edges."""
    deps: Deps = request.app.state.deps
    return deps


@dataclass(frozen=True)
class Agent:
    """A live task and the token that it showed."""

    task: repo.Record
    token: str


@dataclass(frozen=True)
class Caller:
    """A person. `local`: known by the socket alone."""

    name: str
    local: bool = False


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


async def agent(request: Request) -> Agent:
    """The task whose token this is. Raises `Unauthenticated`."""
    token = _bearer(request)
    if token is None:
        raise Unauthenticated("no token: start the agent with `styx run -- <agent>`")
    known = fingerprint(token)
    return Agent(await deps_of(request).db.glance(lambda c: repo.live_task(c, known)), token)


async def anyone(request: Request) -> Caller:
    """A person, or this machine's owner through the socket. Raises `Unauthenticated`."""
    deps, token = deps_of(request), _bearer(request)
    if token is not None:
        known = fingerprint(token)
        return Caller(await deps.db.read(lambda c: repo.person(c, known)))
    server = request.scope.get("server")
    if server is not None and server[1] is None:
        owner = await deps.db.read(repo.first_person)
        return Caller(owner or LOCAL_OWNER, local=True)
    raise Unauthenticated("sign in: set STYX_ADMIN_TOKEN to what `styx login` gave you")


async def signed_in(caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """A person with a bearer of their own. Raises `Forbidden` for the socket alone."""
    if caller.local:
        raise Forbidden("this needs a signed-in person: set STYX_ADMIN_TOKEN (`styx login`)")
    return caller


async def the_deps(request: Request) -> Deps:
    """The service's edges; async, for a plain function would cost each call a thread's turn."""
    return deps_of(request)


TheDeps = Annotated[Deps, Depends(the_deps)]
TheAgent = Annotated[Agent, Depends(agent)]
TheCaller = Annotated[Caller, Depends(anyone)]
ThePerson = Annotated[Caller, Depends(signed_in)]
