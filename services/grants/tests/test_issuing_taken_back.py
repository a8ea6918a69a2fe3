"""What was minted and can't be recorded, or is not wanted any more, is taken back."""

import asyncio

import pytest
from grants_fixture import MINUTE, START, World, opened
from styx_core.contract.grants import RevokeGrant
from styx_core.contract.grants_events import CredentialIssued, CredentialRevoked, GrantUsed
from styx_core.errors import GrantOver, Invalid, TimedOut, Unrecorded
from styx_grants import repository as repo

grants = pytest.fixture(opened)


async def test_unconfirmed_it_is_not_handed_out_and_its_lease_ends(grants: World) -> None:
    """The stream does not answer, but adapters do: the lease ends at the provider at once."""
    await grants.given()
    await grants.deps.outbox.stop()
    grants.deps.record_seconds = 0.02
    with pytest.raises(Unrecorded, match="nothing was issued; try again"):
        await grants.ask()
    (lease,) = await grants.rows(repo.LEASE)
    assert grants.adapters.revoked() == {lease.id}
    assert (lease.outcome, lease.ended_at) == ("hard", START)
    (revoked,) = await grants.events(CredentialRevoked)
    assert (revoked.lease_id, revoked.outcome) == (lease.id, "hard")


async def test_with_the_whole_bus_gone_the_lease_stays_open_until_it_can_be_ended(
    grants: World,
) -> None:
    grant_id = await grants.given()

    async def lose_the_bus() -> None:
        grants.bus.away = True

    grants.adapters.minted = lose_the_bus
    grants.deps.record_seconds = 0.02
    with pytest.raises(Unrecorded):
        await grants.ask()
    assert grants.streamed(CredentialIssued) == []
    (lease,) = await grants.rows(repo.LEASE)
    assert (lease.ended_at, grants.adapters.ended) == (None, [])
    grants.bus.away = False
    await grants.say(RevokeGrant(grant_id=grant_id, person="owner"))
    assert grants.adapters.revoked() == {lease.id}
    (revoked,) = await grants.events(CredentialRevoked)
    assert revoked.lease_id == lease.id


async def test_who_comes_meanwhile_waits_for_the_same_record(grants: World) -> None:
    await grants.given()
    await grants.deps.outbox.stop()
    grants.deps.record_seconds = 0.02
    both = await asyncio.gather(grants.ask(), grants.ask(), return_exceptions=True)
    assert [type(answer) for answer in both] == [Unrecorded, Unrecorded]
    assert len(await grants.events(CredentialIssued)) == 1
    assert await grants.rows(repo.LEASE, ended_at=None) == []


async def test_a_call_that_ran_out_of_its_time_leaves_no_open_lease(grants: World) -> None:
    await grants.given()
    await grants.deps.outbox.stop()
    with pytest.raises(TimedOut):
        await grants.bus.as_service("broker").request(grants.call(), deadline=0.1)
    await ended(grants)


async def ended(grants: World) -> None:
    async with asyncio.timeout(5):
        while not grants.adapters.ended or await grants.rows(repo.LEASE, ended_at=None):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", ["revoked", "expired"])
async def test_a_grant_that_ends_while_its_credential_is_minted_hands_nothing_out(
    grants: World, how: str
) -> None:
    grant_id = await grants.given(duration="15m")

    async def end_it() -> None:
        if how == "revoked":
            await grants.say(RevokeGrant(grant_id=grant_id, person="owner"))
        else:
            grants.clock.on(15 * MINUTE)

    grants.adapters.minted = end_it
    with pytest.raises(GrantOver, match="has ended meanwhile; ask again"):
        await grants.ask()
    assert await grants.rows(repo.LEASE) == await grants.rows(repo.USE) == []
    assert await grants.events(CredentialIssued, GrantUsed) == []
    (command,) = grants.adapters.ended
    assert (command.lease_id, command.grant_id) == (grants.adapters.asked[0].lease_id, grant_id)
    assert command.handle == {"session": command.lease_id}


async def test_another_grant_s_call_id_is_refused_and_its_mint_taken_back(grants: World) -> None:
    await grants.given()
    call = grants.call()
    await grants.say(call)
    await grants.given(target="prod")
    with pytest.raises(Invalid, match="exec_id"):
        await grants.say(grants.call(target="prod", exec_id=call.exec_id))
    minted = grants.adapters.asked[-1]
    assert grants.adapters.revoked() == {minted.lease_id}
    assert len(await grants.rows(repo.LEASE)) == 1
