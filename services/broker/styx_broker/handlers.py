"""The commands of `broker`."""

from styx_core.contract.broker import (
    IdentifyPerson,
    IdentifyTask,
    PersonIdentity,
    TaskIdentity,
)
from styx_core.contract.grants_people import EVERYWHERE, GetMembership

from styx_broker import repository as repo
from styx_broker.deps import Deps

SEEING = ("owner", "approver", "auditor")


async def identify_task(command: IdentifyTask, deps: Deps) -> TaskIdentity:
    """The live task behind a token's hash."""
    now = deps.now()
    row = await deps.db.read(lambda c: repo.live_task(c, command.token_sha256, now))
    return TaskIdentity(
        task_id=row.id, project_id=row.project_id, agent=row.agent, person=row.person
    )


async def identify_person(command: IdentifyPerson, deps: Deps) -> PersonIdentity:
    """The person behind the hash of a bearer, or of a signed-in browser's cookie."""
    now = deps.now()
    name = await deps.db.read(
        lambda c: (
            repo.browsing(c, command.bearer_sha256, now) or repo.person(c, command.bearer_sha256)
        )
    )
    known = await deps.bus.request(GetMembership(person=name))
    everywhere = known.roles.get(EVERYWHERE) in SEEING
    return PersonIdentity(
        person=name, everywhere=everywhere, projects=tuple(sorted(set(known.roles) - {EVERYWHERE}))
    )
