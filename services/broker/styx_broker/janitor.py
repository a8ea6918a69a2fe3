"""What ends without anybody asking: keys, tasks and connected clients whose time or whose person is
gone."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from sqlalchemy import Connection, select
from styx_core.bus import Bus
from styx_core.contract.grants_people import EVERYWHERE, ListPeople, RoleChanged
from styx_core.contract.values import Role
from styx_core.errors import UnknownTask
from styx_core.watching import Watch

from styx_broker import api_keys, connected, oauth_clients
from styx_broker import repository as repo
from styx_broker.deps import Deps
from styx_broker.ending import end_task, retire, unretired

TIME = "its time was over"
LEFT = "its person has no role in this project any more"


class Janitor(Watch[Deps]):
    """Looks now and then, and whenever a role changes."""

    seconds: ClassVar[float] = 15.0

    async def listen(self, bus: Bus) -> None:
        """Look at once when somebody's role changes."""
        await bus.listen(RoleChanged.subject, lambda _subject, _body: self.wake())

    async def once(self) -> None:
        """One look: a read finds whether anything is due, so that an idle hour writes nothing."""
        deps = self._deps
        alive = await deps.db.read(_alive)
        if alive.tasks or alive.keys or alive.clients:
            known = (await deps.bus.request(ListPeople())).people
            roles = {each.person: each.roles for each in known}
            gone = connected.ending(alive.clients, roles, deps.now())
            for row in (*alive.tasks, *alive.keys):
                if why := self._why(row, roles, alive.people):
                    gone[row.id] = why
            if gone:
                await deps.db.write(lambda c: self._end(c, alive, gone))
        if await deps.db.read(lambda c: oauth_clients.any_stale(c, deps.now())):
            await deps.db.write(lambda c: oauth_clients.forget(c, deps.now()))
        for task_id in await deps.db.read(unretired):
            await retire(deps, task_id)

    def _why(
        self, row: repo.Record, roles: Mapping[str, Mapping[str, Role]], people: set[str]
    ) -> str | None:
        """Why a key or a task is over, if it is; whoever never signed in can't have left."""
        until = row.until if "until" in row._fields else row.expires_at
        if until is not None and until <= self._deps.now():
            return TIME
        here = {row.project_id, EVERYWHERE} & roles.get(row.person, {}).keys()
        return LEFT if row.person in people and not here else None

    def _end(self, c: Connection, alive: "Alive", gone: Mapping[str, str]) -> None:
        for client in alive.clients:
            if client.id in gone:
                connected.end(c, self._deps, client, "broker", gone[client.id])
        for key in alive.keys:
            if key.id in gone:
                api_keys.revoke(c, self._deps, key, "broker", gone[key.id])
        for task in alive.tasks:
            if task.id in gone:
                # it may have ended with its key or client, or by another replica
                with contextlib.suppress(UnknownTask):
                    end_task(c, self._deps, task.id, "broker", gone[task.id])


@dataclass(frozen=True)
class Alive:
    """Running tasks, live keys and connected clients, and everybody who ever signed in."""

    tasks: list[repo.Record]
    keys: list[repo.Record]
    clients: list[repo.Record]
    people: set[str]


def _alive(c: Connection) -> Alive:
    running = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None))
    people = set(c.execute(select(repo.PERSON.c.name)).scalars())
    clients = connected.of_projects(c, None)
    return Alive(list(c.execute(running)), api_keys.of_projects(c, None), clients, people)
