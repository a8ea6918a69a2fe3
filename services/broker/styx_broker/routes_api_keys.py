"""API keys over HTTP: made and shown once, listed, revoked."""

from datetime import datetime, timedelta
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection
from styx_core.contract.broker import ApiKeyMade
from styx_core.contract.values import Id, Name
from styx_core.errors import Forbidden, UnknownKey
from styx_core.ids import new_id

from styx_broker import api_keys
from styx_broker import repository as repo
from styx_broker.auth import Caller, TheCaller, TheDeps, ThePerson, project_for
from styx_broker.deps import Deps
from styx_broker.ending import retire
from styx_broker.routes_tasks import Body
from styx_broker.starting import start
from styx_broker.tokens import fingerprint, new_token

router = APIRouter(tags=["keys"])

May = Literal["look", "run", "agent"]


class NewKey(Body):
    """An API key to make; `days` None for one that never expires."""

    project: Name
    name: Name
    may: tuple[May, ...] = Field(min_length=1)
    days: int | None = Field(90, ge=1, le=3650)


class KeySeen(Body):
    """An API key as people see it: never the key itself."""

    id: str
    project_id: str
    person: str
    name: str
    may: tuple[str, ...]
    task_id: str | None
    made_at: datetime
    expires_at: datetime | None
    used_at: datetime | None


class KeyMade(KeySeen):
    """The same with the key, this once."""

    key: str


@router.get("/v1/api-keys")
async def listed(deps: TheDeps, caller: TheCaller) -> list[KeySeen]:
    """The caller's own keys, and of a project that they own everybody's; newest first."""
    rows = await deps.db.read(lambda c: api_keys.of_projects(c, caller.projects))
    return [_seen(row) for row in rows if _theirs(row, caller)]


@router.post("/v1/api-keys", status_code=201)
async def make(body: NewKey, deps: TheDeps, person: ThePerson) -> KeyMade:
    """Make a key. It is answered this once, and kept as a hash."""
    project = await project_for(deps, person, body.project)
    if set(body.may) - {"look"} and not person.may(project.id, "owner", "approver", "member"):
        raise Forbidden("an auditor's key may only look")
    key, now = new_token("key"), deps.now()
    until = None if body.days is None else now + timedelta(days=body.days)
    task_id = None
    if "agent" in body.may:
        who: dict[str, Any] = {
            "agent": body.name,
            "person": person.name,
            "name": f"API key {body.name}",
        }
        task_id = await start(deps, project.id, fingerprint(key), **who, until=until)
    about = {"project_id": project.id, "person": person.name, "name": body.name}
    times = {"made_at": now, "expires_at": until, "used_at": None}
    seen = KeySeen(id=new_id("apk"), **about, may=body.may, task_id=task_id, **times)
    await deps.db.write(lambda c: _save(c, deps, seen, fingerprint(key)))
    return KeyMade(**dict(seen), key=key)


def _save(c: Connection, deps: Deps, seen: KeySeen, sha256: str) -> None:
    row = seen.model_dump() | {"may": " ".join(seen.may), "sha256": sha256}
    repo.add(c, repo.API_KEY, **row)
    event = ApiKeyMade(
        id=new_id("evt"),
        at=seen.made_at,
        actor=seen.person,
        project_id=seen.project_id,
        task_id=seen.task_id,
        key_id=seen.id,
        person=seen.person,
        name=seen.name,
        may=seen.may,
        expires_at=seen.expires_at,
    )
    deps.outbox.record(c, event)


@router.post("/v1/api-keys/{api_key_id}/revoke")
async def revoke(api_key_id: Id, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """End a key now: its person does, or an owner of its project."""

    def save(c: Connection) -> repo.Record:
        row = api_keys.find(c, api_key_id)
        if not _theirs(row, person):
            raise UnknownKey(f"no API key {api_key_id} that you may revoke")
        api_keys.revoke(c, deps, row, person.name, f"{person.name} revoked its key")
        return row

    row = await deps.db.write(save)
    if row.task_id is not None:
        await retire(deps, row.task_id)
    return {"revoked": api_key_id}


def _theirs(row: repo.Record, caller: Caller) -> bool:
    return bool(row.person == caller.name or caller.may(row.project_id, "owner"))


def _seen(row: repo.Record) -> KeySeen:
    values = {name: getattr(row, name) for name in KeySeen.model_fields if name != "may"}
    return KeySeen(**values, may=tuple(row.may.split()))
