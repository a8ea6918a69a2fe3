"""Somebody of another project, on every route that the OpenAPI names: nothing is theirs to see."""

import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from oauth_fixture import let_in
from stack_fixture import Living, living
from styx_core import signing
from styx_core.ids import new_id, new_nonce
from told_fixture import channel

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SECRET = b"FIXTURE of a guest, at least 32 bytes"
KEY = signing.signing_key(SECRET)
OPEN = {"/.well-known/openid-configuration", "/.well-known/jwks.json", "/ssh/krl"}
OWN = {"/v1/me", "/v1/people", "/v1/projects", "/v1/catalog", "/v1/signout", "/v1/signin/nonce"}
"""What everybody has: themselves, those they work with, their projects, what could be connected."""


HIDDEN = ("task_id", "grant_id", "target_id", "key_id", "channel_id", "api_key_id")
HIDDEN += ("connection_id",)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def guest(here: Living) -> AsyncIterator[httpx.AsyncClient]:
    """The owner of another project, and of nothing else."""
    other = await here.ask("POST", "/v1/projects", {"name": "other"})
    code = f"styx_inv_{secrets.token_urlsafe(32)}"
    said: dict[str, Any] = {"code_sha256": hashlib.sha256(code.encode()).hexdigest()}
    said |= {"person": "guest", "where": other["id"], "role": "owner", "seconds": 600}
    signature = here.place.approver.sign(signing.invite_payload(**said))
    await here.ask("POST", "/v1/invitations", {**said, "signature": signature})
    bearer, public = signing.bearer(SECRET), signing.public_key(KEY)
    headers = {"Authorization": f"Bearer {bearer}"}
    async with httpx.AsyncClient(base_url=here.stack.url, headers=headers, timeout=30) as client:
        claim = {"code": code, "person": "guest", "key": public, "bearer": bearer}
        assert (await client.post("/v1/claim", json=claim)).status_code == 201
        yield client


async def theirs(here: Living) -> dict[str, str]:
    """Real ids of the project that isn't the guest's."""
    task = await here.ask("POST", "/v1/tasks", {"project": "shop", "agent": "theirs"})
    headers = {"Authorization": f"Bearer {task['token']}"}
    async with httpx.AsyncClient(base_url=here.stack.url, headers=headers, timeout=30) as agent:
        body = {"tool": "aws", "argv": ["s3", "ls"], "target": "staging"}
        used = await agent.post("/v1/exec", json=body)
    assert used.status_code == 200, used.text
    (target,) = [t for t in await here.ask("GET", "/v1/targets") if t["name"] == "staging"]
    (person,) = [p for p in await here.ask("GET", "/v1/people") if p["person"] == "owner"]
    made = await channel(here, {"url": "json://127.0.0.1:9/theirs"})
    said = {"project": "shop", "name": "theirs", "may": ["look"]}
    key = await here.ask("POST", "/v1/api-keys", said)
    await let_in(here)
    return {
        "channel_id": made["id"],
        "notice_id": new_id("ntc"),
        "question_id": new_id("qst"),
        "api_key_id": key["id"],
        "connection_id": (await here.ask("GET", "/v1/clients"))[0]["id"],
        "task_id": task["id"],
        "grant_id": (await here.grants("active"))[0]["id"],
        "target_id": target["id"],
        "exec_id": new_id("exe"),
        "key_id": person["keys"][0]["id"],
        "project": here.place.project["id"],
        "named": "owner",
    }


def bodies(ids: dict[str, str]) -> dict[str, Any]:
    """A body that would do, by route: signed with the guest's own key, which is all they have."""
    nonce = new_nonce()
    toml = '[[rule]]\nid = "mine"\neffect = "allow"\n'
    target = {"name": "mine", "provider": "aws", "env": "staging", "nonce": nonce}
    made = new_id("tgt")
    about = {"project_id": ids["project"]}
    return {
        "/v1/grants/{grant_id}/decision": {"verdict": "deny", "signature": sign("x")},
        "/v1/grants/{grant_id}/extend": {"signature": sign("x")},
        "/v1/tasks": {"project": ids["project"]},
        "/v1/targets": {
            **target,
            "id": made,
            "project": ids["project"],
            "method": "role",
            "signature": sign(signing.target_payload(**about, target_id=made, **target)),
        },
        "/v1/projects": {"name": "taken-by-a-guest"},
        "/v1/projects/{project}/policy": {
            "toml": toml,
            "nonce": nonce,
            "signature": sign(signing.policy_payload(**about, toml=toml, nonce=nonce)),
        },
        "/v1/projects/{project}/policy/replay": {"toml": toml},
        "/v1/projects/{project}/policy/simulate": {"target": "staging", "scopes": ["read"]},
        "/v1/people/{named}/role": {
            "where": "*",
            "role": None,
            "nonce": nonce,
            "signature": sign(
                signing.role_payload(person="owner", where="*", role=None, nonce=nonce)
            ),
        },
        "/v1/keys/{key_id}/remove": {
            "signature": sign(signing.remove_key_payload(key_id=ids["key_id"]))
        },
        "/v1/invitations": invitation(),
        "/v1/api-keys": {"project": ids["project"], "name": "taken", "may": ["look", "agent"]},
        "/v1/channels": {"id": new_id("chn"), "project": ids["project"], "name": "x", "box": "x"},
        "/v1/questions/{question_id}/answer": {"answer": "yes"},
        "/v1/exec": {"tool": "aws", "argv": ["s3", "ls"]},
    }


def invitation() -> dict[str, Any]:
    """To themselves, as an owner of everything."""
    said = {"code_sha256": "c" * 64, "person": None, "where": "*", "role": "owner", "seconds": 600}
    return {**said, "signature": sign(signing.invite_payload(**said))}


def sign(payload: str) -> str:
    return signing.sign(KEY, payload)


async def test_no_route_shows_or_changes_another_project(
    here: Living, guest: httpx.AsyncClient
) -> None:
    ids = await theirs(here)
    paths = (await guest.get("/v1/openapi.json")).json()["paths"]
    known = bodies(ids)
    before = await state(here)
    tried = 0
    for path, methods in paths.items():
        for method in methods:
            body = known.get(path, {}) if method != "get" else None
            real = path.format(**ids)
            reply = await guest.request(method.upper(), real, json=body)
            tried += 1
            if path in OPEN:
                continue
            told = reply.text
            hidden = [ids[name] for name in HIDDEN]
            asked = [value for value in hidden if value in real]
            assert not [v for v in hidden if v in told and v not in asked], (method, path, told)
            allowed = path in OWN or (method == "get" and reply.json() == [])
            assert reply.status_code >= 400 or allowed, (method, path, told)
            assert reply.status_code < 500, (method, path, told)
    assert tried >= 30
    assert await state(here) == before


async def state(here: Living) -> str:
    """All that a guest could have changed."""
    asked = (
        "/v1/people",
        "/v1/targets",
        "/v1/tasks",
        "/v1/projects",
        "/v1/projects/shop/policy",
    )
    asked += ("/v1/channels", "/v1/api-keys", "/v1/clients")
    found = [await here.ask("GET", path) for path in asked]
    grants = [(g["id"], g["state"]) for g in await here.ask("GET", "/v1/grants")]
    return json.dumps([found, grants], sort_keys=True)


@pytest.mark.parametrize("path", ["/board", "/targets", "/policies", "/settings", "/"])
async def test_no_page_shows_another_project(
    here: Living, guest: httpx.AsyncClient, path: str
) -> None:
    ids = await theirs(here)
    url = here.stack.url.replace("127.0.0.1", "localhost")
    reply = await guest.get(url + path, headers={"Accept": "text/html"})
    assert reply.status_code == 200
    assert not [value for name, value in ids.items() if name != "named" and value in reply.text]
    assert "arn:aws" not in reply.text


async def test_the_log_of_everything_is_not_theirs(here: Living, guest: httpx.AsyncClient) -> None:
    for path in ("entries", "entries/0", "checkpoint", "export"):
        assert (await guest.get(f"/audit/{path}")).status_code == 403
