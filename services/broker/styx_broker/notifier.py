"""From the stream to what is to be told, to people and to tasks: each event once, durably, however
many replicas read."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Final

from pydantic import ValidationError
from sqlalchemy import Connection, select
from styx_core.bus import Delivery
from styx_core.contract.base import EVENTS, Event
from styx_core.contract.grants_people import EVERYWHERE, ListPeople
from styx_core.ids import new_id
from styx_core.watching import Watch

from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.notices import due, told_of, wants
from styx_broker.task_mail import put
from styx_broker.task_notices import letters_of

BATCH: Final = 100
WAIT_SECONDS: Final = 5.0


class Notifier(Watch[Deps]):
    """Reads the events that somebody may want to hear of, and notes who is to be told what."""

    seconds: ClassVar[float] = 0.05

    async def once(self) -> None:
        """One batch: acknowledged after it is noted, so that a fault delays and loses nothing."""
        deps = self._deps
        arrived = await deps.bus.fetch("broker", BATCH, WAIT_SECONDS)
        events = [event for each in arrived if (event := _event(each)) is not None]
        for event in events:
            for letter in letters_of(event):
                await deps.db.write(partial(put, deps=deps, letter=letter, event_id=event.id))
        if len(events) > 0 and await deps.db.read(_anybody):
            people = (await deps.bus.request(ListPeople())).people
            roles = {each.person: each.roles for each in people}
            await deps.db.write(lambda c: _note(c, events, roles))
        for each in arrived:
            await each.ack()


def _anybody(c: Connection) -> bool:
    """Whether anybody is told of anything."""
    return c.execute(select(repo.CHANNEL.c.id).limit(1)).first() is not None


def _event(delivery: Delivery) -> Event | None:
    try:
        return EVENTS[delivery.subject].model_validate_json(delivery.body)
    except (KeyError, ValidationError):  # the audit log records it as refused
        return None


def _note(c: Connection, events: list[Event], roles: Mapping[str, Mapping[str, str]]) -> int:
    channels = list(c.execute(select(repo.CHANNEL)))
    projects = {row.id: row.name for row in repo.projects(c)}
    noted = 0
    for event in events:
        task = c.execute(select(repo.TASK).where(repo.TASK.c.id == event.task_id)).one_or_none()
        who = f"{task.agent}, agent of {task.person}," if task is not None else "an agent"
        for told in told_of(event, who, projects.get(event.project_id or "", "")):
            for channel in channels:
                held = roles.get(channel.person, {})
                here = [held[p] for p in (channel.project_id, EVERYWHERE) if p in held]
                person = None if task is None else task.person
                same = channel.project_id == event.project_id
                if same and wants(channel, told, person, here):
                    noted += _add(c, channel, event, told)
    return noted


def _add(c: Connection, channel: repo.Record, event: Event, told: Any) -> int:
    """Note it, unless an earlier try did."""
    known = select(repo.NOTICE.c.id).where(
        repo.NOTICE.c.channel_id == channel.id,
        repo.NOTICE.c.event_id == event.id,
        repo.NOTICE.c.kind == told.kind,
    )
    if c.execute(known).first() is not None:
        return 0
    repo.add(
        c,
        repo.NOTICE,
        id=new_id("ntc"),
        channel_id=channel.id,
        event_id=event.id,
        grant_id=event.grant_id,
        at=event.at,
        due_at=due(channel, told),
        tries=0,
        **{name: getattr(told, name) for name in ("kind", "title", "text", "about")},
    )
    return 1
