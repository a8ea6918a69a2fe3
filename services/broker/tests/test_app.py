"""The service, opened: the admin link, who may claim it, readiness, and what survives a restart."""

from pathlib import Path

import pytest
from broker_fixture import LIST, OWNER_SECRET, World, broker, claiming
from styx_broker.tokens import fingerprint
from styx_core.contract.base import COMMANDS
from styx_core.contract.broker import (
    AdminClaimed,
    IdentifyPerson,
    IdentifyTask,
    PersonIdentity,
    TaskIdentity,
)
from styx_core.contract.grants_people import EnrolApprover
from styx_core.errors import Unauthenticated, Unavailable
from styx_core.signing import bearer


async def code_of(world: World) -> str:
    assert world.running.first_start is not None
    code = await world.running.first_start()
    assert code is not None
    return code


async def test_the_admin_link_makes_one_owner(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        code = await code_of(world)
        assert code.startswith("styx_adm_")
        reply = await world.client().post("/v1/claim", json=claiming(code))
        assert (reply.status_code, reply.json()) == (201, {"person": "owner"})
        (enrolled,) = world.grants.got(EnrolApprover)
        assert (enrolled.person, enrolled.key) == ("owner", claiming(code)["key"])
        assert (await world.told(AdminClaimed))[0].person == "owner"
        assert (await world.owner.get("/v1/tasks")).status_code == 200
        assert await world.running.first_start() is None, "no further link"  # type: ignore[misc]
        for again in (code, "styx_adm_FIXTURE"):
            reply = await world.client().post("/v1/claim", json=claiming(again, "another"))
            assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_neither_code_nor_bearer_is_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with broker(tmp_path) as world:
        code, shown = await code_of(world), bearer(OWNER_SECRET)
        await world.client().post("/v1/claim", json=claiming(code))
        await world.told(AdminClaimed)
        kept = world.everything() + "".join(capfd.readouterr()).encode()
    assert fingerprint(shown).encode() in kept
    for secret in (code, shown, OWNER_SECRET.decode()):
        assert secret.encode() not in kept


async def test_a_wrong_code_claims_nothing_and_is_tried_ten_times(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        code = await code_of(world)
        tries = [
            await world.client().post("/v1/claim", json=claiming("styx_adm_FIXTURE"))
            for _ in range(11)
        ]
        assert [r.status_code for r in tries] == [401] * 10 + [429]
        assert "wrong or was used" in tries[0].json()["detail"]
        assert world.grants.heard == []
        limited = await world.client().post("/v1/claim", json=claiming(code))
        assert limited.status_code == 429


async def test_a_code_that_was_tried_in_vain_is_gone_and_the_next_start_gives_another(
    tmp_path: Path,
) -> None:
    async with broker(tmp_path) as world:
        code = await code_of(world)
        world.grants.fails[EnrolApprover] = Unavailable("grants is not running")
        reply = await world.client().post("/v1/claim", json=claiming(code))
        assert (reply.status_code, reply.json()["retryable"]) == (503, True)
        world.grants.reset()
        assert (await world.client().post("/v1/claim", json=claiming(code))).status_code == 401
        reply = await world.client().post("/v1/claim", json=claiming(await code_of(world)))
        assert reply.status_code == 201


@pytest.mark.parametrize(
    "over",
    [
        {"bearer": "styx_per_" + "Z" * 64},
        {"bearer": "styx_own_FIXTURE"},
        {"person": "two words"},
        {"code": "c" * 101},
        {"secret": "FIXTURE"},
    ],
)
async def test_a_claim_that_cant_be_uses_up_nothing(tmp_path: Path, over: dict[str, str]) -> None:
    async with broker(tmp_path) as world:
        code = await code_of(world)
        body = {**claiming(code), **over}
        reply = await world.client().post("/v1/claim", json=body)
        assert (reply.status_code, reply.json()["detail"].partition(":")[0]) == (422, *over)
        assert "FIXTURE" not in reply.text
        assert (await world.client().post("/v1/claim", json=claiming(code))).status_code == 201


async def test_a_restart_forgets_nothing(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        await world.claim()
        await world.owner.post("/v1/projects", json={"name": "shop"})
        task, ended = await world.start(), await world.start()
        await world.local.post(f"/v1/tasks/{ended['id']}/end")
    async with broker(tmp_path) as world:
        world.grants.rows.tasks[task["id"]] = True
        world.grants.rows.roles["owner"] = {"*": "owner"}
        assert [t["id"] for t in (await world.owner.get("/v1/tasks")).json()] == [task["id"]]
        world.token = task["token"]
        assert (await world.call(*LIST)).status_code == 200
        world.token = ended["token"]
        assert (await world.call(*LIST)).status_code == 401
        assert await world.running.first_start() is None  # type: ignore[misc]


async def test_it_is_ready_once_the_catalog_has_come(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        ready = world.running.checks["catalog"]
        assert ready()
        world.deps.catalog.providers.clear()
        world.deps.catalog._owner.clear()
        assert not ready()
        await world.local.post("/v1/projects", json={"name": "shop"})
        world.token = (await world.start())["token"]
        reply = await world.call(*LIST)
        assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
        assert "try again in a moment" in reply.json()["detail"]


async def test_the_other_services_ask_whose_a_token_is(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        await world.claim()
        await world.owner.post("/v1/projects", json={"name": "shop"})
        task = await world.start(agent="an-agent")
        gateway, audit = (world.bus.as_service(name) for name in ("mcp-gateway", "audit"))
        found = await gateway.request(IdentifyTask(token_sha256=fingerprint(task["token"])))
        assert isinstance(found, TaskIdentity)
        assert (found.task_id, found.agent, found.person) == (task["id"], "an-agent", "owner")
        known = IdentifyPerson(bearer_sha256=fingerprint(bearer(OWNER_SECRET)))
        assert await audit.request(known) == PersonIdentity(person="owner", everywhere=True)
        world.grants.rows.roles["owner"] = {world.project: "owner"}
        assert not (await audit.request(known)).everywhere
        await world.local.post(f"/v1/tasks/{task['id']}/end")
        for asked in (fingerprint(task["token"]), fingerprint("FIXTURE"), "", task["token"]):
            with pytest.raises(Unauthenticated):
                await gateway.request(IdentifyTask(token_sha256=asked))
            with pytest.raises(Unauthenticated):
                await audit.request(IdentifyPerson(bearer_sha256=asked))


async def test_it_answers_each_command_that_is_its_own(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        own = {kind for kind in COMMANDS.values() if kind.owner == "broker"}
        assert set(world.running.handlers) == own
