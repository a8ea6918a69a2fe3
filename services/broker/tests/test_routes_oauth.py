"""OAuth's endpoints for programs: tokens that end when they should, and nobody else's."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from broker_adapters import START
from broker_fixture import LINK, LIST, MODULE, OWNER, World, broker
from broker_oauth import BACK, NAME, client, registered
from styx_core.contract.broker import ClientAccessEnded, ClientConnected, ClientTokenReplayed
from styx_core.contract.grants import AdmitTask, RetireTask
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.digest import command_digest
from styx_core.errors import Unauthenticated

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


async def test_metadata_is_found_where_clients_look(world: World) -> None:
    here = world.client(LINK)
    server = await here.get("/.well-known/oauth-authorization-server")
    resource = await here.get("/.well-known/oauth-protected-resource/mcp")
    assert server.headers["content-type"] == "application/json"
    assert server.json()["issuer"] == LINK == resource.json()["authorization_servers"][0]
    assert resource.json()["resource"] == f"{LINK}/mcp"
    assert server.json()["registration_endpoint"] == f"{LINK}/oauth/register"


async def test_a_client_registers_itself_and_is_told_what_it_is(world: World) -> None:
    reply = await registered(world, token_endpoint_auth_method="client_secret_post")
    assert reply.status_code == 201
    assert reply.headers["cache-control"] == "no-store"
    said = reply.json()
    assert (said["client_name"], said["redirect_uris"]) == (NAME, [BACK])
    assert said["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in said


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"\xff", b"[" * 9000, b"{}", b"null"])
async def test_bad_metadata_is_refused_as_oauth_refuses(world: World, body: bytes) -> None:
    reply = await world.client(LINK).post("/oauth/register", content=body)
    assert reply.status_code == 400
    assert reply.json()["error"] in ("invalid_client_metadata", "invalid_redirect_uri")
    assert reply.json()["error_description"]


async def test_registrations_are_limited(tmp_path: Any) -> None:
    async with broker(tmp_path) as alone:
        statuses = [(await registered(alone)).status_code for _ in range(31)]
    assert statuses == [201] * 30 + [429]


async def test_a_client_works_as_a_task_of_its_person(world: World) -> None:
    mine = await client(world)
    given = await mine.token(code=await mine.code())
    assert given.headers["cache-control"] == "no-store"
    tokens = given.json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == (
        "Bearer",
        3600,
        "agent",
    )
    who = await mine.works_as(tokens)
    assert (who.person, who.project_id, who.agent) == (OWNER, world.project, "Claude-Code")
    (admitted,) = world.grants.got(AdmitTask)
    assert (admitted.task_id, admitted.person) == (who.task_id, OWNER)
    (event,) = await world.told(ClientConnected)
    assert (event.client, event.person, event.task_id) == (NAME, OWNER, who.task_id)
    call = {"tool": "aws", "argv": LIST, "target": "staging"}
    elsewhere = world.client(token=tokens["access_token"])
    assert (await elsewhere.post("/v1/exec", json=call)).status_code == 401, "for /mcp alone"
    assert (await elsewhere.get("/v1/tasks")).status_code == 401
    kept = world.everything()
    for secret in (tokens["access_token"], tokens["refresh_token"]):
        assert secret.encode() not in kept


async def test_an_access_token_ends_after_an_hour_and_is_refreshed(world: World) -> None:
    mine = await client(world)
    first = await mine.tokens()
    later(world, timedelta(hours=1))
    with pytest.raises(Unauthenticated):
        await mine.works_as(first)
    again = (await mine.refresh(first["refresh_token"])).json()
    assert {again["access_token"], again["refresh_token"]}.isdisjoint(first.values())
    assert (await mine.works_as(again)).agent == "Claude-Code"
    once, more = (command_digest(t["access_token"], LIST) for t in (first, again))
    assert once == more, "what it asked for before is still its own"
    other = await (await client(world)).tokens()
    assert command_digest(other["access_token"], LIST) != once


async def test_parallel_sessions_share_a_refresh_token_for_two_minutes(world: World) -> None:
    mine = await client(world)
    shared = (await mine.tokens())["refresh_token"]
    left = (await mine.refresh(shared)).json()
    later(world, LATE - timedelta(seconds=1))
    right = (await mine.refresh(shared)).json()
    assert await mine.works_as(left) == await mine.works_as(right)
    for each in (left, right):
        assert (await mine.refresh(each["refresh_token"])).status_code == 200


async def test_a_refresh_token_used_after_its_grace_ends_all(world: World) -> None:
    mine = await client(world)
    first = await mine.tokens()
    second = (await mine.refresh(first["refresh_token"])).json()
    task = (await mine.works_as(second)).task_id
    later(world, LATE)
    reply = await mine.refresh(first["refresh_token"])
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_grant")
    with pytest.raises(Unauthenticated):
        await mine.works_as(second)
    assert (await mine.refresh(second["refresh_token"])).json()["error"] == "invalid_grant"
    (event,) = await world.told(ClientTokenReplayed)
    assert (event.what, event.task_id) == ("refresh token", task)
    assert [each.why for each in await world.told(ClientAccessEnded)] == [
        "its refresh token was used again"
    ]
    assert [each.task_id for each in world.grants.got(RetireTask)] == [task]


async def test_a_code_is_good_once_and_its_replay_ends_what_it_gave(world: World) -> None:
    mine = await client(world)
    code = await mine.code()
    tokens = (await mine.token(code=code)).json()
    task = (await mine.works_as(tokens)).task_id
    again = await mine.token(code=code)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    with pytest.raises(Unauthenticated):
        await mine.works_as(tokens)
    (event,) = await world.told(ClientTokenReplayed)
    assert event.what == "authorization code"
    assert [each.task_id for each in world.grants.got(RetireTask)] == [task]
    assert code.encode() not in world.everything()


async def test_a_code_shown_many_times_at_once_gives_nothing_that_lasts(world: World) -> None:
    mine = await client(world)
    code = await mine.code()
    before = (await world.owner.get("/v1/clients")).json()
    replies = await asyncio.gather(*(mine.token(code=code) for _ in range(8)))
    given = [reply.json() for reply in replies if reply.status_code == 200]
    assert len(given) <= 1
    for tokens in given:
        with pytest.raises(Unauthenticated):
            await mine.works_as(tokens)
    assert (await world.owner.get("/v1/clients")).json() == before


async def test_sessions_that_refresh_at_once_all_go_on(world: World) -> None:
    mine = await client(world)
    shared = (await mine.tokens())["refresh_token"]
    replies = await asyncio.gather(*(mine.refresh(shared) for _ in range(8)))
    works = {(await mine.works_as(reply.json())).task_id for reply in replies}
    assert len(works) == 1


async def test_a_code_ends_after_a_minute(world: World) -> None:
    mine = await client(world)
    code = await mine.code()
    later(world, timedelta(seconds=60))
    assert (await mine.token(code=code)).json()["error"] == "invalid_grant"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_verifier": ""}, "invalid_request"),
        ({"code_verifier": "w" * 50}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:4444/callback"}, "invalid_grant"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"client_id": "cli_other"}, "invalid_client"),
        ({"client_id": ""}, "invalid_request"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
        ({"grant_type": ""}, "invalid_request"),
        ({"code": "styx_oac_FIXTURE"}, "invalid_grant"),
        ({"code": ""}, "invalid_request"),
    ],
)
async def test_a_code_is_redeemed_by_who_asked_for_it(
    world: World, change: dict[str, str], error: str
) -> None:
    mine = await client(world)
    code = await mine.code()
    reply = await mine.token(**{"code": code} | change)
    assert reply.status_code == (401 if error == "invalid_client" else 400)
    assert reply.json()["error"] == error
    assert reply.headers["cache-control"] == "no-store"
    assert (await mine.token(code=code)).status_code == 200, "nothing was used up"


async def test_another_client_gets_nothing_for_it(world: World) -> None:
    mine, other = await client(world), await client(world)
    code = await mine.code()
    assert (await other.token(code=code)).json()["error"] == "invalid_grant"
    tokens = (await mine.token(code=code)).json()
    stolen = await other.refresh(tokens["refresh_token"])
    assert stolen.json()["error"] == "invalid_grant"
    form = {"token": tokens["refresh_token"], "client_id": other.id}
    assert (await world.client(LINK).post("/oauth/revoke", data=form)).status_code == 200
    assert (await mine.works_as(tokens)).person == OWNER


async def test_an_access_token_refreshes_nothing_and_a_refresh_token_opens_nothing(
    world: World,
) -> None:
    mine = await client(world)
    tokens = await mine.tokens()
    assert (await mine.refresh(tokens["access_token"])).json()["error"] == "invalid_grant"
    with pytest.raises(Unauthenticated):
        await mine.works_as({"access_token": tokens["refresh_token"]})


async def test_forms_are_forms_and_small(world: World) -> None:
    here = world.client(LINK)
    for path in ("/oauth/token", "/oauth/revoke"):
        for body, kind in ((b"{}", "application/json"), (b"", "text/plain"), (b"a=1", "")):
            reply = await here.post(path, content=body, headers={"Content-Type": kind})
            assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for body in (b"\xff", b"a=1&a=2", b"=", b"%", b"client_id=%00", b"a" * 20_000):
            reply = await here.post(path, content=body, headers=form)
            assert reply.json()["error"] == "invalid_request"
            assert reply.status_code in (400, 413)
