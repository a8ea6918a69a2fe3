"""Logins are signed for a call that is under way, by its own task, while its grant lives."""

from datetime import timedelta

import pytest
from grants_fixture import ALLOW, World, opened, task
from styx_core.contract.adapters import SignChallenge
from styx_core.contract.grants import ReportUse, RetireTask, RevokeGrant, SignLogin
from styx_core.contract.values import Signature
from styx_core.errors import GrantOver, Unauthenticated, UnknownGrant
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)

MADE = Signature(signature="c2lnbmVk")


async def under_way(grants: World) -> tuple[SignLogin, list[SignChallenge]]:
    """A login of a call that has its credential, and what `adapters` will be asked to sign."""
    asked: list[SignChallenge] = []

    async def sign_challenge(command: SignChallenge) -> Signature:
        asked.append(command)
        return MADE

    await grants.bus.as_service("adapters").serve("adapters", {SignChallenge: sign_challenge})
    await grants.policy(ALLOW)
    call = grants.call()
    await grants.say(call)
    return SignLogin(task_id=grants.task, exec_id=call.exec_id, data="bG9naW4="), asked


async def test_it_is_signed_by_the_targets_own_key(grants: World) -> None:
    login, asked = await under_way(grants)
    assert await grants.say(login) == MADE
    (target,) = await grants.rows(repo.TARGET, name="staging")
    (said,) = asked
    assert (said.provider, said.credential_ref, said.data) == (
        target.provider,
        target.credential_ref,
        login.data,
    )


async def test_once_the_grant_has_ended_nothing_more_is(grants: World) -> None:
    login, asked = await under_way(grants)
    (grant,) = await grants.rows(repo.GRANT, state="active")
    await grants.say(RevokeGrant(grant_id=grant.id, person="owner"))
    await grants.refused(GrantOver, login)
    assert asked == []


async def test_nor_when_its_time_is_over_and_nobody_has_looked_yet(grants: World) -> None:
    login, asked = await under_way(grants)
    grants.clock.on(timedelta(hours=9))
    await grants.refused(GrantOver, login)
    assert asked == []


async def test_a_call_that_has_ended_or_is_anothers_is_as_unknown(grants: World) -> None:
    login, asked = await under_way(grants)
    other = await grants.add(repo.TASK, **task(grants.project))
    said = {
        await grants.refused(UnknownGrant, login.model_copy(update=change))
        for change in ({"task_id": other}, {"exec_id": new_id("exe")})
    }
    assert len(said) == 1
    await grants.say(ReportUse(task_id=grants.task, exec_id=login.exec_id, exit_code=0))
    await grants.refused(UnknownGrant, login)
    assert asked == []


async def test_a_task_that_has_ended_signs_nothing(grants: World) -> None:
    login, asked = await under_way(grants)
    await grants.say(RetireTask(task_id=grants.task))
    await grants.refused(Unauthenticated, login)
    assert asked == []
