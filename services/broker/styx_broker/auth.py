"""Who is calling: an agent by its task's token, a person by their bearer or their browser's
session, a program by an API key, or this machine's owner. What a person may see and do is
`grants`' word, each time.

The embedded stack also listens on a unix socket that only the owner of its data folder can reach.
Who comes through it may do what harms nobody (start and end tasks, look, revoke) without a token;
deciding always needs the approver's signature, which no socket can give.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, Request
from styx_core.contract.grants_people import EVERYWHERE, GetMembership, Membership
from styx_core.contract.values import Role
from styx_core.errors import Forbidden, Unauthenticated, UnknownProject

from styx_broker import api_keys, sessions
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
    """A person, and their role by project. `local`: known by the socket alone; `key`: by a key."""

    name: str
    roles: Mapping[str, Role]
    local: bool = False
    session: repo.Record | None = None
    key: repo.Record | None = None

    def may(self, project_id: str, *wanted: Role) -> bool:
        """Whether they have one of these roles there; none named: any role at all."""
        here = {self.roles.get(project_id), self.roles.get(EVERYWHERE)} - {None}
        return bool(here & set(wanted)) if wanted else bool(here)

    @property
    def projects(self) -> tuple[str, ...] | None:
        """The projects that they see; None for all."""
        return None if EVERYWHERE in self.roles else tuple(self.roles)


def _bearer(request: Request) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


async def agent(request: Request) -> Agent:
    """The task whose token this is. Raises `Unauthenticated`."""
    token = _bearer(request)
    if token is None:
        raise Unauthenticated("no token: start the agent with `styx run -- <agent>`")
    known = fingerprint(token)
    deps = deps_of(request)
    now = deps.now()
    return Agent(await deps.db.glance(lambda c: repo.live_task(c, known, now)), token)


async def somebody(request: Request) -> Caller:
    """A person, or this machine's owner through the socket; of a person's roles nothing is known.

    Raises `Unauthenticated`.
    """
    deps, token = deps_of(request), _bearer(request)
    if token is not None and token.startswith(api_keys.PREFIX):
        return _program(await api_keys.shown(deps, fingerprint(token)), request.method)
    if token is not None:
        known = fingerprint(token)
        return Caller(await deps.db.read(lambda c: repo.person(c, known)), {})
    cookie = sessions.shown_cookie(deps, request)
    if cookie is not None:
        row = await deps.db.read(lambda c: sessions.find(c, cookie, deps.now()))
        if row is None:
            raise Unauthenticated("you are signed out; sign in again")
        sessions.checked(deps, request, cookie)
        return Caller(row.person, {}, session=row)
    server = request.scope.get("server")
    if server is not None and server[1] is None:
        owner = await deps.db.read(repo.first_person)
        return Caller(owner or LOCAL_OWNER, {EVERYWHERE: "owner"}, local=True)
    raise Unauthenticated("sign in: set STYX_ADMIN_TOKEN to what `styx login` gave you")


def _program(key: repo.Record, method: str) -> Caller:
    """Who an API key works for, if it may do this kind of call. Raises `Forbidden`."""
    due = "look" if method in sessions.SAFE else "run"
    if due not in key.may.split():
        raise Forbidden(f"the API key {key.name} may not {due}; make one that may, under Settings")
    return Caller(key.person, {}, key=key)


async def anyone(request: Request) -> Caller:
    """The same with their roles, as `grants` knows them now. Raises `Forbidden` for none left."""
    caller = await somebody(request)
    if caller.local:
        return caller
    known = await deps_of(request).bus.request(GetMembership(person=caller.name))
    if caller.key is not None:
        where = caller.key.project_id
        role = known.roles.get(where) or known.roles.get(EVERYWHERE)
        known = Membership(person=caller.name, roles={where: role} if role else {})
    if not known.roles:
        raise Forbidden(f"{caller.name} has no role here any more; ask an owner")
    return replace(caller, roles=known.roles)


async def signer(caller: Annotated[Caller, Depends(somebody)]) -> Caller:
    """A person whose signature `grants` will check, their role too: nothing need be known here."""
    return await signed_in(caller)


async def signed_in(caller: Annotated[Caller, Depends(anyone)]) -> Caller:
    """A person with a bearer of their own. Raises `Forbidden` for the socket alone or a key."""
    if caller.local:
        raise Forbidden("this needs a signed-in person: set STYX_ADMIN_TOKEN (`styx login`)")
    if caller.key is not None:
        raise Forbidden("this needs a person themselves; an API key can't do it")
    return caller


async def the_deps(request: Request) -> Deps:
    """The service's edges; async, for a plain function would cost each call a thread's turn."""
    return deps_of(request)


TheDeps = Annotated[Deps, Depends(the_deps)]
TheAgent = Annotated[Agent, Depends(agent)]
TheCaller = Annotated[Caller, Depends(anyone)]
ThePerson = Annotated[Caller, Depends(signed_in)]
TheSigner = Annotated[Caller, Depends(signer)]


async def project_for(deps: Deps, caller: Caller, named: str | None, *wanted: Role) -> repo.Record:
    """A project by name or id, for somebody with one of these roles in it.

    Raises `UnknownProject` where they have none at all, so that nobody learns what else there is,
    and `Forbidden` where theirs is not enough.
    """
    found = await deps.db.read(lambda c: repo.project(c, named, caller.projects))
    if not caller.may(found.id):
        raise UnknownProject(f"no project {found.name!r}")
    if wanted and not caller.may(found.id, *wanted):
        raise Forbidden(f"this needs the role {' or '.join(wanted)} in {found.name}")
    return found
