"""What people do over HTTP: decisions, revocations, targets, rules, the catalog."""

import asyncio
from typing import Any

import pytest
from broker_adapters import CA, KEY
from broker_fixture import LIST, MODULE, OWNER, REMOVE, World, signed
from broker_grants import Kept
from styx_core.contract.adapters import Connect
from styx_core.contract.grants import (
    Decide,
    ListGrants,
    ListTargets,
    PutPolicy,
    RevokeGrant,
    SaveTarget,
)
from styx_core.errors import ProviderFailed
from styx_core.ids import new_id, new_nonce
from styx_core.seal import OpeningKey, connect_info, seal
from styx_core.signing import decision_payload, policy_payload, target_payload

pytestmark = MODULE


async def waiting(world: World) -> Kept:
    """A request that waits, its caller gone."""
    held = asyncio.create_task(world.call(*REMOVE, target="prod"))
    kept = await world.pending()
    held.cancel()
    return kept


def decision(kept: Kept, verdict: str = "approve", **over: Any) -> dict[str, Any]:
    """A signed decision; `over` is said besides what was signed."""
    payload = decision_payload(
        grant_id=kept.id,
        verdict=verdict,
        target=kept.target.name,
        env=kept.target.env,
        scopes=kept.scopes,
        duration="1h",
        command=kept.asked.command,
    )
    return {"verdict": verdict, "signature": signed(payload), **over}


async def decide(world: World, grant_id: str, body: Any) -> Any:
    return await world.owner.post(f"/v1/grants/{grant_id}/decision", json=body)


@pytest.mark.parametrize(("verdict", "status"), [("approve", "active"), ("deny", "denied")])
async def test_a_signed_decision_is_taken(world: World, verdict: str, status: str) -> None:
    kept = await waiting(world)
    reply = await decide(world, kept.id, decision(kept, verdict, reason="as agreed"))
    assert (reply.status_code, reply.json()["status"]) == (200, status)
    assert (reply.json()["grant_id"], reply.json()["why"]) == (kept.id, "as agreed")
    (asked,) = world.grants.got(Decide)
    assert (asked.person, asked.choice.verdict) == (OWNER, verdict)


@pytest.mark.parametrize(
    "over",
    [
        {"signature": ""},
        {"signature": "FIXTURE not base64"},
        {"signature": signed("something else")},
        {"verdict": "deny"},
        {"scopes": ["write"]},
        {"duration": "always"},
    ],
)
async def test_a_decision_that_was_not_signed_like_this(world: World, over: dict[str, Any]) -> None:
    kept = await waiting(world)
    reply = await decide(world, kept.id, {**decision(kept), **over})
    assert (reply.status_code, reply.json()["code"]) == (403, "signature_refused")
    assert "decide anew" in reply.json()["detail"]
    assert kept.state == "pending"


async def test_another_approvers_key_decides_nothing(world: World) -> None:
    kept = await waiting(world)
    other = signed("x", b"FIXTURE another's token, 32 bytes")
    reply = await decide(world, kept.id, decision(kept, signature=other))
    assert reply.json()["code"] == "signature_refused"
    assert kept.state == "pending"


@pytest.mark.parametrize(
    ("over", "what"),
    [
        ({"verdict": "maybe"}, "verdict: String should match"),
        ({"scopes": ["admin"]}, "scopes.0: Input should be 'read'"),
        ({"duration": "2h"}, "duration: Input should be 'once', '15m'"),
        ({"reason": "r" * 2001}, "reason: String should have at most"),
        ({"signature": "s" * 201}, "signature.terminal: String should have at most"),
        ({"signature": None}, "signature.terminal: Input should be a valid string"),
        ({"person": "someone"}, "person: Extra inputs"),
    ],
)
async def test_a_decision_that_cant_be(world: World, over: dict[str, Any], what: str) -> None:
    kept = await waiting(world)
    reply = await decide(world, kept.id, {**decision(kept), **over})
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid")
    assert reply.json()["detail"].startswith(what)
    assert world.grants.got(Decide) == []


async def test_a_decision_wakes_who_waits_here_though_its_event_is_late(world: World) -> None:
    call = asyncio.create_task(world.call(*REMOVE))
    kept = await world.pending()
    world.grants.tells = False
    assert (await decide(world, kept.id, decision(kept))).status_code == 200
    async with asyncio.timeout(10):
        assert (await call).json()["status"] == "active"


async def test_who_comes_second_is_told(world: World) -> None:
    kept = await waiting(world)
    await decide(world, kept.id, decision(kept))
    reply = await decide(world, kept.id, decision(kept, "deny"))
    assert (reply.status_code, reply.json()["code"]) == (409, "already_decided")
    unknown = await decide(world, new_id("grt"), decision(kept))
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_grant")


async def test_a_revocation_names_who_and_why(world: World) -> None:
    await world.call(*LIST)
    (kept,) = world.grants.rows.kept.values()
    reply = await world.owner.post(f"/v1/grants/{kept.id}/revoke", json={"reason": "enough"})
    said = reply.json()
    assert (reply.status_code, said["status"], said["why"]) == (200, "ended", "enough")
    (asked,) = world.grants.got(RevokeGrant)
    assert (asked.person, asked.reason) == (OWNER, "enough")
    again = await world.owner.post(f"/v1/grants/{kept.id}/revoke", json={})
    assert (again.status_code, again.json()["code"]) == (409, "already_decided")


async def test_grants_are_listed_by_state_and_project(world: World) -> None:
    await world.call(*LIST)
    kept = await waiting(world)
    get = world.owner.get
    every = (await get("/v1/grants")).json()
    assert [grant["state"] for grant in every] == ["pending", "active"]
    assert every[0]["command"] == ["aws", *REMOVE]
    only = (await get("/v1/grants", params={"state": "pending", "project": "shop"})).json()
    assert [grant["id"] for grant in only] == [kept.id]
    both = await get("/v1/grants", params={"state": ["active", "pending"]})
    assert len(both.json()) == 2
    asked = world.grants.got(ListGrants)
    assert [a.states for a in asked] == [(), ("pending",), ("active", "pending")]
    assert [a.projects for a in asked] == [None, (world.project,), None]


async def test_targets_are_listed_by_project(world: World) -> None:
    listed = await world.owner.get("/v1/targets", params={"project": world.project})
    assert {t["name"] for t in listed.json()} >= {"staging", "prod"}
    assert [a.projects for a in world.grants.got(ListTargets)] == [(world.project,)]
    for path in ("grants", "targets"):
        unknown = await world.owner.get(f"/v1/{path}", params={"project": "nowhere"})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_project")
        wrong = await world.owner.get(f"/v1/{path}", params={"project": "a\0b"})
        assert (wrong.status_code, wrong.json()["detail"][:8]) == (422, "project:")


def new_target(world: World, secret: str = "FIXTURE-key", **over: Any) -> dict[str, Any]:
    """A target to connect, its secret sealed as the CLI does."""
    target_id = new_id("tgt")
    about = {"provider": "aws", "env": "prod", "nonce": new_nonce()}
    fields = {"name": f"t-{target_id[-8:]}", **about, **over}
    names = ("name", "provider", "env", "nonce")
    payload = target_payload(
        project_id=world.project, target_id=target_id, **{n: str(fields[n]) for n in names}
    )
    return {
        "id": target_id,
        "project": "shop",
        "method": "role",
        "config": {"role_arn": "arn:aws:iam::123456789012:role/styx"},
        "box": seal({"secret_access_key": secret}, KEY.public, connect_info(target_id)),
        "signature": signed(payload),
        **fields,
    }


async def test_a_target_is_verified_then_saved_and_its_secret_stays_sealed(world: World) -> None:
    body = new_target(world)
    reply = await world.owner.post("/v1/targets", json=body)
    assert (reply.status_code, reply.json()["name"]) == (201, body["name"])
    (sent,), (saved,) = world.adapters.got(Connect), world.grants.got(SaveTarget)
    assert (sent.target_id, sent.box) == (body["id"], body["box"])
    assert (saved.label, saved.person, saved.project_id) == ("an account", OWNER, world.project)
    assert "box" not in saved.model_dump()
    assert b"FIXTURE-key" not in world.everything()
    assert body["box"].encode() not in b"".join(p.read_bytes() for p in world.folder.iterdir())


@pytest.mark.parametrize(
    ("over", "status", "what"),
    [
        ({"provider": "acme"}, 422, "provider: no provider 'acme'"),
        ({"box": seal({}, OpeningKey.make().public, "x")}, 422, "box: it does not open"),
        ({"box": None}, 422, "box: it does not open"),
        ({"box": "b" * 100_001}, 422, "box: String should have at most"),
        ({"project": "nowhere"}, 404, "no project 'nowhere'"),
        ({"env": "dev"}, 422, "env: Input should be 'prod', 'staging'"),
        ({"name": "a b"}, 422, "name: String should match"),
        ({"id": "FIXTURE"}, 422, "id: String should match"),
        ({"config": {"a": 1}}, 422, "config.a: Input should be a valid string"),
        ({"secret": "FIXTURE"}, 422, "secret: Extra inputs"),
        ({"signature": signed("else")}, 403, "the signature is not this approver's"),
    ],
)
async def test_a_target_that_cant_be(
    world: World, over: dict[str, Any], status: int, what: str
) -> None:
    before = dict(world.grants.rows.targets)
    reply = await world.owner.post("/v1/targets", json={**new_target(world), **over})
    assert (reply.status_code, reply.json()["detail"][: len(what)]) == (status, what)
    assert "FIXTURE" not in reply.text
    assert world.grants.rows.targets == before


async def test_a_target_of_another_project_gets_no_other_login(world: World) -> None:
    body = new_target(world)
    await world.owner.post("/v1/targets", json=body)
    elsewhere = (await world.owner.post("/v1/projects", json={"name": "elsewhere"})).json()
    before = len(world.adapters.got(Connect))
    reply = await world.owner.post("/v1/targets", json={**body, "project": elsewhere["id"]})
    assert (reply.status_code, reply.json()["detail"][:4]) == (422, "id: ")
    assert len(world.adapters.got(Connect)) == before


async def test_a_target_whose_provider_fails_is_not_saved(world: World) -> None:
    world.adapters.fails[Connect] = ProviderFailed("AWS answered 500")
    reply = await world.owner.post("/v1/targets", json=new_target(world))
    assert (reply.status_code, reply.json()["retryable"]) == (502, True)
    assert world.grants.got(SaveTarget) == []


async def test_a_projects_rules_are_read_and_replaced(world: World) -> None:
    toml = '[[rule]]\nid = "all"\neffect = "ask"\n'
    said = {"toml": toml, "nonce": new_nonce()}
    payload = policy_payload(project_id=world.project, **said)
    path = "/v1/projects/shop/policy"
    put = await world.owner.put(path, json={**said, "signature": signed(payload)})
    assert (put.status_code, put.json()) == (200, {"toml": toml})
    assert (await world.owner.get(f"/v1/projects/{world.project}/policy")).json() == {"toml": toml}
    (asked,) = world.grants.got(PutPolicy)
    assert (asked.person, asked.project_id) == (OWNER, world.project)
    other = await world.owner.put(path, json={**said, "toml": "", "signature": signed(payload)})
    assert (other.status_code, other.json()["code"]) == (403, "signature_refused")
    assert (await world.owner.get(path)).json() == {"toml": toml}


async def test_the_catalog_says_what_can_be_connected(world: World) -> None:
    found = (await world.owner.get("/v1/catalog")).json()
    assert found["sealing_key"] == KEY.public
    assert found["public"]["ssh_ca"] == CA
    assert {"aws", "ssh", "hub"} == set(found["providers"])
    role = found["providers"]["aws"]["methods"]["role"]
    assert [field["name"] for field in role["fields"] if field["secret"]]
