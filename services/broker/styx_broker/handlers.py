"""The commands of `broker`."""

from datetime import datetime

from sqlalchemy import Connection
from styx_core.contract.broker import (
    IdentifyPerson,
    IdentifyTask,
    PersonIdentity,
    TaskIdentity,
)
from styx_core.contract.grants_people import EVERYWHERE, GetMembership
from styx_core.errors import Unauthenticated

from styx_broker import oauth_tokens
from styx_broker import repository as repo
from styx_broker.deps import Deps

SEEING = ("owner", "approver", "auditor")


async def identify_task(command: IdentifyTask, deps: Deps) -> TaskIdentity:
    """The live task behind a token's hash: its own token, or its OAuth client's."""
    now, known = deps.now(), command.token_sha256
    row, client = await deps.db.read(lambda c: _bearing(c, known, now))
    if client is not None and client.used_at + oauth_tokens.SEEN <= now:
        await deps.db.write(lambda c: oauth_tokens.note_use(c, client, now))
    return TaskIdentity(
        task_id=row.id, project_id=row.project_id, agent=row.agent, person=row.person
    )


def _bearing(
    c: Connection, token_sha256: str, now: datetime
) -> tuple[repo.Record, repo.Record | None]:
    try:
        return repo.live_task(c, token_sha256, now), None
    except Unauthenticated:
        found = oauth_tokens.carrying(c, token_sha256, now)
        if found is None:
            raise
        return found


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
