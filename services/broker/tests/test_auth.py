"""Who is calling: tokens of tasks and of people, and the socket of this machine's owner."""

from typing import Any

import httpx
import pytest
from broker_fixture import (
    LIST,
    MODULE,
    OWNER,
    OWNER_SECRET,
    REMOVE,
    SOCKET,
    World,
    broker,
    claiming,
    signed,
)
from styx_broker.tokens import new_token
from styx_core.contract.broker import TaskStarted
from styx_core.contract.grants import Authorize, Decide, RevokeGrant
from styx_core.signing import bearer, decision_payload

pytestmark = MODULE
PERSON = bearer(OWNER_SECRET)


async def exec_with(world: World, header: str | None, base: str = SOCKET) -> httpx.Response:
    headers = {} if header is None else {"Authorization": header}
    body = {"tool": "aws", "argv": LIST, "target": "staging"}
    return await world.client(base).post("/v1/exec", json=body, headers=headers)


@pytest.mark.parametrize(
    "header",
    [
        *(None, "", "Bearer", "Bearer ", "Bearer a b", "Basic FIXTURE", "FIXTURE"),
        *("Bearer styx_tsk_FIXTURE", f"Bearer {PERSON}", "Bearer " + "x" * 5000),
    ],
)
async def test_no_token_of_a_running_task(world: World, header: str | None) -> None:
    reply = await exec_with(world, header)
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert "styx run" in reply.json()["detail"]
    assert "FIXTURE" not in reply.text
    assert world.grants.heard == []


async def test_a_wrong_token_and_an_ended_tasks_look_the_same(world: World) -> None:
    task = await world.start()
    assert (await exec_with(world, f"Bearer {task['token']}")).status_code == 200
    await world.local.post(f"/v1/tasks/{task['id']}/end")
    replies = [
        await exec_with(world, f"Bearer {token}")
        for token in (task["token"], new_token("tsk"), task["token"][:-1], task["token"].upper())
    ]
    assert {(r.status_code, r.content) for r in replies} == {(401, replies[0].content)}
    assert {tuple(sorted(r.headers.items())) for r in replies} == {
        tuple(sorted(replies[0].headers.items()))
    }


async def test_the_shim_is_told_as_fields_what_to_do(world: World) -> None:
    status, fields = await world.shim("aws", "/", "", *LIST, token="FIXTURE-wrong")
    assert status == 401
    assert fields[0].endswith("start the agent with `styx run`")
    assert fields[1:] == ["exit=78", "verdict=refuse"]


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {} ", "Bearer   {}"])
async def test_the_scheme_in_each_of_its_spellings(world: World, form: str) -> None:
    assert (await exec_with(world, form.format(world.token))).status_code == 200


@pytest.mark.parametrize("token", ["", "FIXTURE-wrong", "styx_per_" + "0" * 64])
async def test_nobody_known_sees_nothing(world: World, token: str) -> None:
    reply = await world.client(token=token).get("/v1/tasks")
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")
    assert "styx login" in reply.json()["detail"]


async def test_a_tasks_token_is_nobodys_bearer(world: World) -> None:
    for base in (SOCKET, "http://broker:4100"):
        agent = world.client(base, token=world.token)
        assert (await agent.get("/v1/tasks")).status_code == 401, "not even through the socket"
        assert (await agent.post(f"/v1/tasks/{world.task}/end")).status_code == 401


async def test_the_person_is_known_by_their_bearer_wherever_they_come_from(world: World) -> None:
    for base in (SOCKET, "http://broker:4100"):
        reply = await world.client(base, token=PERSON).post("/v1/tasks", json={})
        assert reply.status_code == 201
    assert (await world.told(TaskStarted, 2))[-1].person == OWNER


async def test_the_sockets_owner_starts_ends_looks_and_revokes(world: World) -> None:
    local = world.local
    task = await world.start(agent="an-agent")
    for path in ("projects", "tasks", "targets", "grants", "catalog"):
        assert (await local.get(f"/v1/{path}")).status_code == 200
    assert (await local.post(f"/v1/tasks/{task['id']}/end")).status_code == 200
    await world.call(*LIST)
    (kept,) = world.grants.rows.kept.values()
    assert (await local.post(f"/v1/grants/{kept.id}/revoke", json={})).json()["status"] == "ended"
    assert world.grants.got(RevokeGrant)[0].person == OWNER


async def deciding(world: World) -> tuple[str, dict[str, Any]]:
    """A request that waits, and its owner's approval of it."""
    world.grants.effect = lambda _command: "pending"
    await world.grants.authorize(
        Authorize(
            task_id=world.task,
            exec_id="exe_00000000000000000000000000",
            provider="aws",
            target="prod",
            scopes=("delete",),
            command=("aws", *REMOVE),
            command_digest="d",
            exact=True,
            understood="it deletes",
            edge_key="k",
        )
    )
    (kept,) = world.grants.rows.kept.values()
    payload = decision_payload(
        grant_id=kept.id,
        verdict="approve",
        target="prod",
        env="prod",
        scopes=("delete",),
        duration="1h",
        command=kept.asked.command,
    )
    return kept.id, {"verdict": "approve", "signature": signed(payload)}


async def test_the_sockets_owner_decides_nothing_even_with_a_signature(world: World) -> None:
    grant, body = await deciding(world)
    refused = [
        await world.local.post(f"/v1/grants/{grant}/decision", json=body),
        await world.local.put("/v1/projects/shop/policy", json={"toml": "", "signature": ""}),
        await world.local.post("/v1/targets", json=a_target(world)),
    ]
    assert [(r.status_code, r.json()["code"]) for r in refused] == [(403, "forbidden")] * 3
    assert "styx login" in refused[0].json()["detail"]
    assert world.grants.got(Decide) == []
    assert world.adapters.heard == []
    assert (await world.owner.post(f"/v1/grants/{grant}/decision", json=body)).status_code == 200


def a_target(world: World) -> dict[str, Any]:
    return {
        "id": "tgt_00000000000000000000000000",
        "project": "shop",
        "name": "new",
        "provider": "aws",
        "env": "prod",
        "method": "role",
        "signature": "",
    }


async def test_before_anybody_claimed_it_the_socket_is_just_the_owners(tmp_path: Any) -> None:
    async with broker(tmp_path) as world:
        assert (await world.local.post("/v1/projects", json={"name": "shop"})).status_code == 201
        assert (await world.local.post("/v1/tasks", json={})).status_code == 201
        assert (await world.local.get("/v1/tasks")).json()[0]["person"] == "owner"
        assert (await world.client().get("/v1/tasks")).status_code == 401
        code = await world.running.first_start()  # type: ignore[misc]
        await world.client().post("/v1/claim", json=claiming(code, "somebody"))
        await world.local.post("/v1/tasks", json={})
        assert (await world.local.get("/v1/tasks")).json()[0]["person"] == "somebody"
