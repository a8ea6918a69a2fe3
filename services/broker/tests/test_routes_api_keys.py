"""API keys: shown once, bound to a person's project, and never more than their person."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from broker_adapters import START
from broker_fixture import LIST, MODULE, OWNER, World, until
from styx_broker.janitor import LEFT, TIME, Janitor
from styx_core.contract.broker import ApiKeyMade, ApiKeyRevoked, TaskEnded
from styx_core.contract.grants import RetireTask, RevokeGrant
from styx_core.contract.grants_people import EVERYWHERE
from styx_core.errors import Unavailable
from styx_core.ids import new_id

pytestmark = MODULE


@pytest.fixture(autouse=True)
def clock(world: World) -> Iterator[None]:
    """What a test did to time or people is undone."""
    yield
    world.deps.now = lambda: START
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}


async def made(world: World, *may: str, **more: Any) -> dict[str, Any]:
    """A new key."""
    body = {"project": "shop", "name": "nightly", "may": may, **more}
    reply = await world.owner.post("/v1/api-keys", json=body)
    assert reply.status_code == 201, reply.text
    key: dict[str, Any] = reply.json()
    return key


async def listed(world: World) -> dict[str, Any]:
    """The keys by id."""
    return {each["id"]: each for each in (await world.owner.get("/v1/api-keys")).json()}


async def status(world: World, key: str, path: str = "/v1/tasks", method: str = "GET") -> int:
    """How a call with a key is answered."""
    return (await world.client(token=key).request(method, path, json={})).status_code


async def test_a_key_is_shown_once_kept_as_a_hash_and_its_use_is_noted(world: World) -> None:
    key = await made(world, "look")
    assert key["key"].startswith("styx_key_")
    assert len(key["key"]) == 52
    assert key["expires_at"] == (START + timedelta(days=90)).isoformat().replace("+00:00", "Z")
    assert (await listed(world))[key["id"]]["used_at"] is None
    assert await status(world, key["key"]) == 200
    seen = (await listed(world))[key["id"]]
    assert seen["used_at"] is not None
    assert "key" not in seen
    assert key["key"].encode() not in world.everything()
    (event,) = await world.told(ApiKeyMade)
    assert (event.key_id, event.person, event.may) == (key["id"], OWNER, ("look",))
    assert key["key"] not in (await world.owner.get("/settings")).text


async def test_a_key_does_only_what_it_was_made_for(world: World) -> None:
    look, run = (await made(world, "look"))["key"], (await made(world, "run"))["key"]
    assert await status(world, look, "/v1/tasks", "POST") == 403
    assert await status(world, run) == 403
    assert await status(world, look, "/v1/exec", "POST") == 401
    started = await world.client(token=run).post("/v1/tasks", json={"project": "shop"})
    assert started.status_code == 201
    ended = await world.client(token=run).post(f"/v1/tasks/{started.json()['id']}/end")
    assert ended.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/api-keys", {"project": "shop", "name": "more", "may": ["look"]}),
        ("POST", "/v1/invitations", {"code_sha256": "c" * 64, "signature": "x"}),
        ("PUT", "/v1/projects/shop/policy", {"toml": "", "nonce": "n" * 16, "signature": "x"}),
        ("POST", "/v1/projects", {"name": "mine"}),
    ],
)
async def test_no_key_does_what_takes_a_person(
    world: World, method: str, path: str, body: dict[str, Any]
) -> None:
    key = (await made(world, "look", "run"))["key"]
    reply = await world.client(token=key).request(method, path, json=body)
    assert reply.status_code == 403, reply.text


async def test_a_key_sees_and_revokes_in_its_own_project_alone(world: World) -> None:
    other = await world.owner.post("/v1/projects", json={"name": "other"})
    key = (await made(world, "look", "run", project=other.json()["id"]))["key"]
    seen = await world.client(token=key).get("/v1/projects")
    assert [each["name"] for each in seen.json()] == ["other"]
    named = {"project": "shop"}
    assert (await world.client(token=key).post("/v1/tasks", json=named)).status_code == 404
    foreign = f"/v1/grants/{new_id('grt')}/revoke"
    assert await status(world, key, foreign, "POST") == 404
    assert world.grants.got(RevokeGrant) == [], "`grants` would have known only the person"


async def test_an_agent_s_key_is_the_token_of_a_task_of_its_own(world: World) -> None:
    key = await made(world, "agent")
    call = {"tool": "aws", "argv": LIST, "target": "staging"}
    agent = world.client(token=key["key"])
    assert (await agent.post("/v1/exec", json=call)).status_code == 200
    assert (await world.owner.post(f"/v1/api-keys/{key['id']}/revoke")).status_code == 200
    assert (await agent.post("/v1/exec", json=call)).status_code == 401
    assert [each.task_id for each in world.grants.got(RetireTask)] == [key["task_id"]]
    (event,) = await world.told(ApiKeyRevoked)
    assert (event.key_id, event.why) == (key["id"], f"{OWNER} revoked its key")
    again = await world.owner.post(f"/v1/api-keys/{key['id']}/revoke")
    assert (again.status_code, again.json()["code"]) == (404, "unknown_key")


async def test_a_key_and_its_task_end_with_their_time(world: World) -> None:
    key = await made(world, "agent", "look", days=1)
    world.deps.now = lambda: START + timedelta(days=1)
    reply = await world.client(token=key["key"]).get("/v1/tasks")
    assert (reply.status_code, "has expired" in reply.json()["detail"]) == (401, True)
    call = {"tool": "aws", "argv": LIST, "target": "staging"}
    assert (await world.client(token=key["key"]).post("/v1/exec", json=call)).status_code == 401
    await Janitor(world.deps).once()
    assert [each.why for each in await world.told(TaskEnded)] == [TIME]
    assert [each.task_id for each in world.grants.got(RetireTask)] == [key["task_id"]]
    assert key["id"] not in await listed(world)


async def test_who_leaves_takes_their_keys_and_tasks_along(world: World) -> None:
    key = await made(world, "look", "agent")
    running = await world.start(project="shop")
    world.grants.rows.roles[OWNER] = {}
    assert await status(world, key["key"]) == 403
    await Janitor(world.deps).once()
    ended = {each.task_id: each.why for each in await world.told(TaskEnded, 2)}
    assert ended[running["id"]] == ended[key["task_id"]] == LEFT
    world.task = ""
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}
    assert await status(world, key["key"]) == 401, "they may come back; their keys don't"


async def test_the_end_of_a_task_is_told_until_it_is_known(world: World) -> None:
    running = await world.start(project="shop")
    world.grants.fails[RetireTask] = Unavailable("away")
    assert (await world.owner.post(f"/v1/tasks/{running['id']}/end")).status_code == 503
    world.grants.fails.clear()
    world.grants.heard.clear()
    await Janitor(world.deps).once()
    await Janitor(world.deps).once()
    assert [each.task_id for each in world.grants.got(RetireTask)] == [running["id"]]


async def test_an_auditor_s_key_may_only_look(world: World) -> None:
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "auditor"}
    body = {"project": "shop", "name": "siem", "may": ["look", "agent"]}
    reply = await world.owner.post("/v1/api-keys", json=body)
    assert (reply.status_code, reply.json()["detail"]) == (403, "an auditor's key may only look")
    assert (await world.owner.post("/v1/api-keys", json=body | {"may": ["look"]})).is_success


async def test_a_role_that_changes_is_looked_at_at_once(world: World) -> None:
    key = await made(world, "look")
    world.grants.rows.roles[OWNER] = {}
    from styx_core.contract.grants_people import RoleChanged

    told = {"person": OWNER, "where": EVERYWHERE, "role": None}
    event = RoleChanged(id=new_id("evt"), at=START, actor=OWNER, **told)
    await world.grants.bus.publish(event.subject, event.id, event.model_dump_json().encode())
    await until(lambda: world.events(ApiKeyRevoked))
    assert key["id"] in {each.key_id for each in world.events(ApiKeyRevoked)}
