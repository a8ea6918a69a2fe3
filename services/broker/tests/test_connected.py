"""How a connected client ends: by its person, an owner or itself, unused, or with its task."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from broker_adapters import START
from broker_fixture import LINK, MODULE, OWNER, World
from broker_oauth import NAME, client
from sqlalchemy import select
from styx_broker import oauth_clients
from styx_broker import repository as repo
from styx_broker.connected import IDLE, LEFT, STOPPED
from styx_broker.janitor import Janitor
from styx_core.contract.broker import ClientAccessEnded
from styx_core.contract.grants import RetireTask
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.errors import Unauthenticated, Unavailable

pytestmark = MODULE
LATE = timedelta(minutes=2)


@pytest.fixture(autouse=True)
def undone(world: World) -> Iterator[None]:
    """What a test did to time, people or limits."""
    world.deps.limits._buckets.clear()
    yield
    world.deps.now = lambda: START
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}


def later(world: World, by: timedelta) -> None:
    """It is so much later."""
    world.deps.now = lambda: START + by


async def test_thirty_days_unused_and_it_is_over(world: World) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    later(world, timedelta(days=29))
    tokens = (await mine.refresh(tokens["refresh_token"])).json()
    later(world, timedelta(days=58))
    await Janitor(world.deps).once()
    tokens = (await mine.refresh(tokens["refresh_token"])).json()
    later(world, timedelta(days=88))
    assert (await mine.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    await Janitor(world.deps).once()
    assert IDLE in [each.why for each in await world.told(ClientAccessEnded)]
    assert (await mine.refresh(tokens["refresh_token"])).json()["error"] == "invalid_client"


async def known(world: World) -> set[str]:
    """The ids of all clients."""
    query = select(repo.CLIENT.c.id)
    return set(await world.deps.db.read(lambda c: list(c.execute(query).scalars())))


async def test_what_nobody_uses_is_forgotten(world: World) -> None:
    never, once = await client(world), await client(world)
    later(world, timedelta(hours=1))
    await once.tokens()
    later(world, timedelta(days=30))
    await Janitor(world.deps).once()
    assert (never.id in await known(world), once.id in await known(world)) == (False, True)
    later(world, timedelta(days=31))
    await Janitor(world.deps).once()
    assert await known(world) == set()
    for table in (repo.CODE, repo.TOKEN):
        query = select(table)
        assert await world.deps.db.read(lambda c, query=query: c.execute(query).first()) is None


async def test_of_those_that_nobody_let_in_the_newest_are_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oauth_clients, "MOST_NEVER_USED", 2)
    used = await client(world)
    await used.tokens()
    others = [await client(world) for _ in range(4)]
    await Janitor(world.deps).once()
    assert {used.id, *(each.id for each in others[2:])} <= await known(world)
    assert not {each.id for each in others[:2]} & await known(world)


async def test_use_is_noted_once_a_minute(world: World) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    for minutes, seen in ((0.5, START), (5, START + timedelta(minutes=5))):
        later(world, timedelta(minutes=minutes))
        await mine.works_as(tokens)
        listed = (await world.owner.get("/v1/clients")).json()
        assert listed[0]["used_at"] == seen.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("role", [None, "auditor"])
async def test_who_may_run_no_agents_any_more_loses_their_clients(world: World, role: Any) -> None:
    mine = await client(world)
    looked, asked = await mine.tokens(), await mine.tokens()
    world.grants.rows.roles[OWNER] = {EVERYWHERE: role} if role else {}
    assert (await mine.refresh(asked["refresh_token"])).json()["error"] == "invalid_grant"
    with pytest.raises(Unauthenticated):
        await mine.works_as(asked)
    await Janitor(world.deps).once()
    with pytest.raises(Unauthenticated):
        await mine.works_as(looked)
    assert {each.why for each in await world.told(ClientAccessEnded, 2)} >= {LEFT}


async def test_a_task_that_is_ended_takes_the_connection_along(world: World) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    task = (await mine.works_as(tokens)).task_id
    assert (await world.owner.post(f"/v1/tasks/{task}/end")).status_code == 200
    with pytest.raises(Unauthenticated):
        await mine.works_as(tokens)
    assert (await mine.refresh(tokens["refresh_token"])).json()["error"] == "invalid_grant"
    await Janitor(world.deps).once()
    assert [each.why for each in await world.told(ClientAccessEnded)] == [STOPPED]


async def test_revoked_under_settings(world: World) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    (seen,) = [c for c in (await world.owner.get("/v1/clients")).json() if c["client"] == NAME][:1]
    assert (seen["person"], seen["project_id"]) == (OWNER, world.project)
    page = (await mine.browser.get("/settings", headers={"Accept": "text/html"})).text
    assert f'data-disconnect="{seen["id"]}"' in page
    world.grants.fails[RetireTask] = Unavailable("away")
    revoked = await world.owner.post(f"/v1/clients/{seen['id']}/revoke")
    assert revoked.status_code == 503, "what it holds may live on for a moment"
    world.grants.fails.clear()
    with pytest.raises(Unauthenticated):
        await mine.works_as(tokens)
    await Janitor(world.deps).once()
    assert seen["task_id"] in [each.task_id for each in world.grants.got(RetireTask)]
    again = await world.owner.post(f"/v1/clients/{seen['id']}/revoke")
    assert (again.status_code, again.json()["code"]) == (404, "unknown_key")


async def test_a_client_signs_out(world: World) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    other = (await mine.refresh(tokens["refresh_token"])).json()
    for token, works in ((tokens["access_token"], True), (other["refresh_token"], False)):
        form = {"token": token, "client_id": mine.id}
        for _ in range(2):  # the second time it is unknown, which is no error
            reply = await world.client(LINK).post("/oauth/revoke", data=form)
            assert reply.status_code == 200
        with pytest.raises(Unauthenticated):
            await mine.works_as({"access_token": token})
        if works:
            await mine.works_as(other)
    with pytest.raises(Unauthenticated):
        await mine.works_as(other)
    assert len(world.grants.got(RetireTask)) == 1
