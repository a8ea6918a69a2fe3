"""Channels over HTTP: how people are told, what could not be told, and a try of it."""

from datetime import datetime
from typing import Literal, get_args

from fastapi import APIRouter
from pydantic import Field
from sqlalchemy import Connection, delete, select
from styx_core.contract.adapters_notices import DropChannel, KeepChannel, Notice, Tell
from styx_core.contract.broker import ChannelMade, ChannelRemoved
from styx_core.contract.values import Id, Name
from styx_core.errors import Invalid, UnknownChannel
from styx_core.ids import new_id

from styx_broker import repository as repo
from styx_broker import sessions
from styx_broker.auth import Caller, TheCaller, TheDeps, ThePerson, project_for
from styx_broker.deps import Deps
from styx_broker.posting import save
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["notifications"])

Kind = Literal["access.requested", "access.decided", "grant.ending", "target.expired"]


class NewChannel(Body):
    """A channel to make. `box`: its address, sealed to the adapters' key and bound to `id`.

    `only_own`: only of the maker's own agents. `after_minutes`: only of requests that still wait
    then.
    """

    id: Id
    project: Name
    name: Name
    box: str = Field(max_length=100_000)
    kinds: tuple[Kind, ...] = Field(get_args(Kind), min_length=1)
    only_own: bool = False
    after_minutes: int = Field(0, ge=0, le=1440)


class ChannelSeen(Body):
    """A channel as people see it; its address is in Vault alone."""

    id: str
    project_id: str
    person: str
    name: str
    label: str
    kinds: tuple[str, ...]
    only_own: bool
    after_minutes: int
    made_at: datetime


class DeadLetter(Body):
    """What could not be told, and why."""

    id: str
    channel_id: str
    kind: str
    at: datetime
    title: str
    tries: int
    trouble: str


@router.get("/v1/channels")
async def listed(deps: TheDeps, caller: TheCaller) -> list[ChannelSeen]:
    """The caller's own channels, and of a project that they own everybody's."""
    rows = await deps.db.read(lambda c: _theirs(c, caller))
    return [_seen(row) for row in rows]


@router.post("/v1/channels", status_code=201)
async def make(body: NewChannel, deps: TheDeps, person: ThePerson) -> ChannelSeen:
    """Make a channel: `adapters` checks its address and keeps it."""
    project = await project_for(deps, person, body.project)
    known = select(repo.CHANNEL.c.id).where(repo.CHANNEL.c.id == body.id)
    if await deps.db.read(lambda c: c.execute(known).first()):
        raise Invalid("id: there is such a channel already; make a new id, and seal anew")
    kept = await deps.bus.request(KeepChannel(channel_id=body.id, box=body.box))
    about = body.model_dump(include={"id", "name", "only_own", "after_minutes"})
    about |= {"project_id": project.id, "person": person.name, "label": kept.label}
    about |= {"made_at": deps.now()}
    event = ChannelMade(**_event(deps, project.id, person.name), **_who(about))

    def keep(c: Connection) -> None:
        repo.add(c, repo.CHANNEL, **about, kinds=" ".join(body.kinds))
        deps.outbox.record(c, event)

    await deps.db.write(keep)
    return ChannelSeen(**about, kinds=body.kinds)


@router.post("/v1/channels/{channel_id}/remove")
async def remove(channel_id: Id, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """Forget a channel, and what waits to be told over it."""
    row = await deps.db.read(lambda c: _find(c, person, channel_id))
    await deps.bus.request(DropChannel(channel_id=channel_id))
    why = f"{person.name} removed it"
    event = ChannelRemoved(
        **_event(deps, row.project_id, person.name), **_who(row._asdict()), why=why
    )

    def forget(c: Connection) -> None:
        c.execute(delete(repo.NOTICE).where(repo.NOTICE.c.channel_id == channel_id))
        c.execute(delete(repo.CHANNEL).where(repo.CHANNEL.c.id == channel_id))
        deps.outbox.record(c, event)

    await deps.db.write(forget)
    return {"removed": channel_id}


@router.post("/v1/channels/{channel_id}/test")
async def test(channel_id: Id, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """Tell something over a channel now."""
    row = await deps.db.read(lambda c: _find(c, person, channel_id))
    said = Notice(
        id=new_id("ntc"),
        kind="channel.tested",
        at=deps.now(),
        title="Styx can reach you here",
        text=f"{person.name} tried the channel {row.name}.",
        link=f"{sessions.web_origin(deps)}/settings",
    )
    await deps.bus.request(Tell(channel_id=channel_id, notice=said), deadline=25.0)
    return {"told": row.name}


@router.get("/v1/dead-letters")
async def dead_letters(deps: TheDeps, caller: TheCaller) -> list[DeadLetter]:
    """What could not be told over the caller's channels, newest first; at most 200."""
    rows = await deps.db.read(lambda c: _dead(c, caller))
    return [DeadLetter(**{n: getattr(row, n) for n in DeadLetter.model_fields}) for row in rows]


@router.post("/v1/dead-letters/{notice_id}/retry")
async def retry(notice_id: Id, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """Try once more, from the start."""

    def again(c: Connection) -> None:
        if notice_id not in {row.id for row in _dead(c, person)}:
            raise UnknownChannel(f"no dead letter {notice_id}")
        save(c, notice_id, {"dead_at": None, "tries": 0, "due_at": deps.now()})

    await deps.db.write(again)
    return {"retrying": notice_id}


def _theirs(c: Connection, caller: Caller) -> list[repo.Record]:
    rows = c.execute(select(repo.CHANNEL).order_by(repo.CHANNEL.c.id.desc()))
    here = [row for row in rows if caller.may(row.project_id)]
    return [r for r in here if r.person == caller.name or caller.may(r.project_id, "owner")]


def _find(c: Connection, caller: Caller, channel_id: str) -> repo.Record:
    """One of the caller's channels. Raises `UnknownChannel`."""
    for row in _theirs(c, caller):
        if row.id == channel_id:
            return row
    raise UnknownChannel(f"no channel {channel_id}; Settings shows them")


def _dead(c: Connection, caller: Caller) -> list[repo.Record]:
    own = [row.id for row in _theirs(c, caller)]
    query = select(repo.NOTICE).where(
        repo.NOTICE.c.dead_at.is_not(None), repo.NOTICE.c.channel_id.in_(own)
    )
    return list(c.execute(query.order_by(repo.NOTICE.c.dead_at.desc()).limit(200)))


def _seen(row: repo.Record) -> ChannelSeen:
    values = {name: getattr(row, name) for name in ChannelSeen.model_fields}
    return ChannelSeen(**values | {"kinds": tuple(row.kinds.split())})


def _event(deps: Deps, project_id: str, actor: str) -> dict[str, object]:
    return {"id": new_id("evt"), "at": deps.now(), "actor": actor, "project_id": project_id}


def _who(about: dict[str, object]) -> dict[str, object]:
    return {"channel_id": about["id"], "person": about["person"], "label": about["label"]}
