"""Signing logins with a stored key, while the call that asks is under way and its grant lives.

The key never leaves Vault: the agent's socket sends each login here. That the credential was issued
and used is on the record already, by the call itself.
"""

from sqlalchemy import Connection, select
from styx_core.contract.adapters import SignChallenge
from styx_core.contract.grants import SignLogin
from styx_core.contract.values import Signature
from styx_core.errors import GrantOver, UnknownGrant

from styx_grants import repository as repo
from styx_grants.deadlines import due
from styx_grants.deps import Deps
from styx_grants.machine import State


async def sign_login(command: SignLogin, deps: Deps) -> Signature:
    """One login's signature. Raises `GrantOver` once the grant has ended."""
    now = deps.now()

    def find(c: Connection) -> repo.Record:
        task = repo.task(c, command.task_id)
        query = select(repo.USE).where(
            repo.USE.c.id == command.exec_id, repo.USE.c.task_id == task.id
        )
        use = c.execute(query).one_or_none()
        if use is None or use.exit_code is not None:
            raise UnknownGrant("no call with this id is under way in this task")
        grant = repo.grant(c, use.grant_id)
        if grant.state != State.ACTIVE or due(repo.times(grant), now) is not None:
            raise GrantOver("the grant of this call has ended; nothing more is signed for it")
        return c.execute(select(repo.TARGET).where(repo.TARGET.c.id == grant.target_id)).one()

    target = await deps.db.read(find)
    return await deps.bus.request(
        SignChallenge(
            provider=target.provider,
            credential_ref=target.credential_ref,
            config=target.config,
            data=command.data,
        )
    )
