"""What ends without anybody asking: keys and tasks whose time or whose person is gone."""

import contextlib
from typing import ClassVar

from sqlalchemy import Connection, select
from styx_core.bus import Bus
from styx_core.contract.grants_people import EVERYWHERE, ListPeople, RoleChanged
from styx_core.errors import UnknownTask
from styx_core.watching import Watch

from styx_broker import api_keys
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
        tasks, keys, people = await deps.db.read(_alive)
        if tasks or keys:
            known = (await deps.bus.request(ListPeople())).people
            roles = {each.person: set(each.roles) for each in known}
            gone = {
                row.id: why for row in (*tasks, *keys) if (why := self._why(row, roles, people))
            }
            if gone:
                await deps.db.write(lambda c: self._end(c, tasks, keys, gone))
        for task_id in await deps.db.read(unretired):
            await retire(deps, task_id)

    def _why(self, row: repo.Record, roles: dict[str, set[str]], people: set[str]) -> str | None:
        """Why a key or a task is over, if it is; whoever never signed in can't have left."""
        until = row.until if "until" in row._fields else row.expires_at
        if until is not None and until <= self._deps.now():
            return TIME
        here = {row.project_id, EVERYWHERE} & roles.get(row.person, set())
        return LEFT if row.person in people and not here else None

    def _end(
        self, c: Connection, tasks: list[repo.Record], keys: list[repo.Record], gone: dict[str, str]
    ) -> None:
        for key in keys:
            if key.id in gone:
                api_keys.revoke(c, self._deps, key, "broker", gone[key.id])
        for task in tasks:
            if task.id in gone:
                # it may have ended with its key, or by another replica
                with contextlib.suppress(UnknownTask):
                    end_task(c, self._deps, task.id, "broker", gone[task.id])


def _alive(c: Connection) -> tuple[list[repo.Record], list[repo.Record], set[str]]:
    """Running tasks, live keys, and everybody who ever signed in."""
    running = select(repo.TASK).where(repo.TASK.c.ended_at.is_(None))
    people = set(c.execute(select(repo.PERSON.c.name)).scalars())
    return list(c.execute(running)), api_keys.of_projects(c, None), people
