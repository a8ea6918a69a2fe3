"""How grants end by themselves, what their leases do then, and that a provider's trouble waits."""

from datetime import timedelta

import pytest
from grants_fixture import DAY, HOUR, MINUTE, START, World, opened, target
from sqlalchemy import Connection
from styx_core.contract.grants import RevokeGrant
from styx_core.contract.grants_events import CredentialRevoked, GrantEnded
from styx_core.errors import Unavailable
from styx_grants import repository as repo
from styx_grants.deps import SteadyClock

grants = pytest.fixture(opened)

MOMENT = timedelta(seconds=1)


async def state(grants: World, grant_id: str) -> str:
    (row,) = await grants.rows(repo.GRANT, id=grant_id)
    return str(row.state)


async def until(grants: World, length: timedelta, grant_id: str, after: str) -> None:
    """Nothing is due just before this time; at it the grant ends, with its one event."""
    before = await state(grants, grant_id)
    grants.clock.on(length - MOMENT)
    async with grants.unchanged():
        await grants.sweep()
    assert await state(grants, grant_id) == before
    grants.clock.on(MOMENT)
    await grants.sweep()
    (told,) = await grants.events(GrantEnded)
    assert await state(grants, grant_id) == told.state == after
    assert (told.grant_id, told.actor, told.at) == (grant_id, "grants", START + length)


async def test_a_request_times_out_after_a_day(grants: World) -> None:
    grant_id = (await grants.ask()).access.grant_id
    await until(grants, DAY, grant_id, "expired")
    (told,) = await grants.events(GrantEnded)
    assert told.why == "nobody decided within a day"
    assert grants.adapters.ended == []


@pytest.mark.parametrize(
    ("duration", "length", "why"),
    [
        ("15m", 15 * MINUTE, "its time was over"),
        ("1h", HOUR, "its time was over"),
        ("8h", HOUR, "an hour went by without use"),
        ("task", HOUR, "an hour went by without use"),
    ],
)
async def test_a_grant_ends_by_its_time_or_for_want_of_use(
    grants: World, duration: str, length: timedelta, why: str
) -> None:
    grant_id = await grants.given(duration=duration)
    await until(grants, length, grant_id, "expired")
    (told,) = await grants.events(GrantEnded)
    assert told.why == why
    assert (await grants.ask()).access.grant_id != grant_id


async def test_a_standing_grant_ends_by_no_clock(grants: World) -> None:
    grant_id = await grants.given(duration="always")
    grants.clock.on(1000 * DAY)
    async with grants.unchanged():
        await grants.sweep()
    assert await state(grants, grant_id) == "active"


async def test_with_its_grant_a_lease_ends_at_its_provider(grants: World) -> None:
    await grants.given(duration="15m")
    grants.adapters.life = HOUR
    answer = await grants.ask()
    await grants.deps.db.write(lambda c: lengthen(c, answer.sealed.lease_id))
    grants.clock.on(15 * MINUTE)
    await grants.sweep()
    (told,) = await grants.events(CredentialRevoked)
    (lease,) = await grants.rows(repo.LEASE)
    (command,) = grants.adapters.ended
    assert told.lease_id == command.lease_id == lease.id == answer.sealed.lease_id
    assert told.outcome == lease.outcome == "hard"
    assert command.handle == {"session": lease.id}


def lengthen(c: Connection, lease_id: str) -> None:
    """As where a provider's shortest session is longer than the grant."""
    c.execute(
        repo.LEASE.update().where(repo.LEASE.c.id == lease_id).values(expires_at=START + HOUR)
    )


@pytest.mark.parametrize("trouble", ["it fails", "it is away"])
async def test_a_lease_that_cannot_be_ended_now_stays_open_and_is_tried_again(
    grants: World, trouble: str
) -> None:
    grant_id = await grants.given(duration="8h")
    await grants.ask()
    played = grants.bus.servers.copy()
    if trouble == "it fails":
        grants.adapters.outcome = "failed"
    else:
        grants.bus.servers = {s: v for s, v in played.items() if ".adapters." not in s}
    await grants.say(RevokeGrant(grant_id=grant_id, person="owner"))
    await grants.sweep()
    assert await state(grants, grant_id) == "revoked"
    assert [lease.ended_at for lease in await grants.rows(repo.LEASE)] == [None]
    assert await grants.events(CredentialRevoked) == []
    grants.bus.servers, grants.adapters.outcome = played, "hard"
    await grants.sweep()
    await grants.sweep()
    assert [lease.outcome for lease in await grants.rows(repo.LEASE)] == ["hard"]
    assert len(await grants.events(CredentialRevoked)) == 1


@pytest.mark.parametrize(("revocable", "outcome"), [("hard", "expired"), ("none", "none")])
async def test_one_that_has_run_out_is_marked_and_bothers_no_provider(
    grants: World, revocable: str, outcome: str
) -> None:
    grants.adapters.revocable = revocable
    await grants.given(duration="15m")
    await grants.ask()
    grants.clock.on(15 * MINUTE)
    await grants.sweep()
    (told,) = await grants.events(CredentialRevoked)
    (lease,) = await grants.rows(repo.LEASE)
    assert (told.outcome, lease.outcome, lease.ended_at) == (outcome, outcome, told.at)
    assert grants.adapters.ended == []


async def test_of_two_grants_on_one_target_each_ends_its_own_leases(grants: World) -> None:
    kept = await grants.given("read")
    over = await grants.given("write")
    reading, writing = await grants.ask("read"), await grants.ask("write")
    assert (reading.access.grant_id, writing.access.grant_id) == (kept, over)
    await grants.say(RevokeGrant(grant_id=over, person="owner"))
    await grants.sweep()
    assert grants.adapters.revoked() == {writing.sealed.lease_id}
    assert (await grants.ask("read")).sealed.lease_id == reading.sealed.lease_id
    assert (await grants.ask("write")).access.status == "pending"


async def test_a_lease_is_ended_where_it_was_minted(grants: World) -> None:
    await grants.add(repo.TARGET, **target(grants.project, "other", "staging", region="eu-west-1"))
    grant_id = await grants.given(target="other")
    await grants.ask(target="other")
    await grants.say(RevokeGrant(grant_id=grant_id, person="owner"))
    (command,) = grants.adapters.ended
    assert (command.grant_id, command.provider) == (grant_id, "aws")
    assert command.credential_ref == "styx/creds/aws/other"
    assert command.config == {"region": "eu-west-1"}


async def test_a_clock_set_back_prolongs_no_grant(grants: World) -> None:
    grants.deps.now = SteadyClock(grants.clock)
    grant_id = await grants.given(duration="15m")
    grants.clock.on(16 * MINUTE)
    grants.deps.now()
    grants.clock.on(-10 * HOUR)
    assert (await grants.ask()).access.grant_id != grant_id
    await grants.sweep()
    assert await state(grants, grant_id) == "expired"
    assert grants.adapters.asked == []


async def test_an_unreachable_bus_holds_no_ending_up(grants: World) -> None:
    grant_id = await grants.given(duration="15m")
    await grants.ask()
    grants.clock.on(15 * MINUTE - MOMENT)
    grants.bus.away = True
    grants.clock.on(MOMENT)
    with pytest.raises(Unavailable):
        await grants.bus.as_service("broker").request(grants.call())
    await grants.sweep()
    assert await state(grants, grant_id) == "expired"
    assert [event.grant_id for event in await grants.events(GrantEnded)] == [grant_id]
