"""Errors on every route that the OpenAPI names: made from it, so that a new route is in here."""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any, cast

import httpx
import pytest
from broker_fixture import MODULE, World, broker
from styx_broker.app import build
from styx_broker.deps import Deps
from styx_broker.exec_wire import SHIM_TYPE
from styx_core.contract.grants import ListGrants
from styx_core.errors import RateLimited
from styx_core.ids import new_id

pytestmark = MODULE
OPEN = {
    ("get", "/.well-known/openid-configuration"),
    ("get", "/.well-known/jwks.json"),
    ("get", "/ssh/krl"),
}
"""What anybody may read, since the clouds and hosts that trust Styx must."""
CLAIM = {
    "code": "styx_adm_FIXTURE",
    "person": "x",
    "bearer": f"styx_per_{'0' * 64}",
    "key": "",
}
SIGN_IN = {("post", f"/v1/{path}") for path in ("signin/nonce", "signin", "signout")}
"""How somebody unknown becomes known."""
ID = {"grant_id": "grt", "target_id": "tgt", "task_id": "tsk", "exec_id": "exe", "key_id": "key"}
ID |= {"channel_id": "chn", "notice_id": "ntc", "api_key_id": "apk", "question_id": "qst"}
ID |= {"connection_id": "con"}
GARBAGE: list[bytes] = [
    *(b"", b"{", b"[]", b"null", b"7", b'"FIXTURE"', b"{}", b"\xff\xfe", b"\0", b'{"a": NaN}'),
    *(b'{"\\ud800": 1}', b'{"name": "\\ud800"}', b'{"name": "a\\u0000b"}', b'{"scopes": {}}'),
    *(b"[" * 5000, b'{"name": ' + b"9" * 5000 + b"}", json.dumps({"x" * 5000: 1}).encode()),
    json.dumps({k: [None] for k in ("name", "project", "verdict", "toml", "code")}).encode(),
]


def routes() -> Iterator[tuple[str, str]]:
    """Each method and path of the OpenAPI."""
    for path, methods in build(cast(Deps, None)).openapi()["paths"].items():
        yield from ((method, path) for method in methods)


ROUTES = sorted(routes())


def real(path: str) -> str:
    """A path with an id in it that could be."""
    for name, kind in ID.items():
        path = path.replace(f"{{{name}}}", new_id(kind))
    return (
        path.replace("{project}", "shop")
        .replace("{named}", "ada")
        .replace("{", "")
        .replace("}", "")
    )


def is_problem(reply: httpx.Response) -> dict[str, Any]:
    """The answer as a problem, with every part of its shape."""
    assert reply.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = reply.json()
    assert {*found} == {"type", "title", "status", "detail", "code", "retryable"}
    assert (found["type"], found["status"]) == ("about:blank", reply.status_code)
    assert found["code"].replace("_", " ") == found["title"]
    assert found["detail"]
    return found


async def test_there_are_routes() -> None:
    assert len(ROUTES) >= 17
    assert ("post", "/v1/exec") in ROUTES
    assert {*ROUTES} >= OPEN


@pytest.mark.parametrize(("method", "path"), [r for r in ROUTES if r not in OPEN | SIGN_IN])
async def test_nobody_gets_in_without_credentials(world: World, method: str, path: str) -> None:
    body = CLAIM if path == "/v1/claim" else {}
    if path == "/v1/claim":
        return await nobody_claims(world)
    for token in ("", "FIXTURE-wrong"):
        reply = await world.client(token=token).request(method, real(path), json=body)
        assert (reply.status_code, is_problem(reply)["code"]) == (401, "unauthenticated")
        assert reply.headers["www-authenticate"] == "Bearer"
    assert world.grants.heard == []
    assert world.adapters.heard == []


async def nobody_claims(world: World) -> None:
    reply = await world.client().post("/v1/claim", json=CLAIM)
    assert (reply.status_code, is_problem(reply)["code"]) == (403, "forbidden"), "it is claimed"


@pytest.mark.parametrize(("method", "path"), sorted(OPEN))
async def test_what_is_open_holds_nothing_that_is_secret(
    world: World, method: str, path: str
) -> None:
    reply = await world.client().request(method, path)
    assert reply.status_code == 200
    assert world.token not in reply.text


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_garbage_is_refused_and_never_a_fault_of_ours(
    world: World, method: str, path: str
) -> None:
    kinds = ("application/json", SHIM_TYPE) if path == "/v1/exec" else ("application/json",)
    bodies = GARBAGE if method != "get" else GARBAGE[:1]
    for caller in (world.local, world.owner, world.client(token=world.token)):
        for body, kind in product(bodies, kinds):
            headers = {"Content-Type": kind}
            reply = await caller.request(method, real(path), content=body, headers=headers)
            assert reply.status_code < 500 or reply.json()["code"] == "unavailable", body
            if reply.status_code >= 400:
                assert "FIXTURE" not in is_problem(reply)["detail"]


@pytest.mark.parametrize(("method", "path"), [r for r in ROUTES if "{" in r[1]])
async def test_garbage_in_the_path_is_named(world: World, method: str, path: str) -> None:
    head, _, rest = path.partition("{")
    name, _, tail = rest.partition("}")
    for value in ("%00", "%ff", "é", "x" * 3000, "a%20b", "-", "%ED%A0%80", "'"):
        for client in (world.owner, world.client(token=world.token)):
            reply = await client.request(method, f"{head}{value}{tail}", json={})
            found = is_problem(reply)
            assert reply.status_code in (401, 422)
            assert reply.status_code == 401 or found["detail"].startswith(f"{name}: ")


async def test_garbage_in_the_query_is_named(world: World) -> None:
    for query in ("project=%00", "project=%ff", "project=" + "x" * 65, "project=a+b"):
        found = is_problem(await world.owner.get(f"/v1/grants?{query}"))
        assert (found["status"], found["detail"][:9]) == (422, "project: ")
    reply = await world.owner.get("/v1/grants?state=%00&state=FIXTURE&other=1")
    assert (reply.status_code, reply.json()) == (200, [])
    assert len(world.grants.got(ListGrants)) == 1


async def test_a_body_that_is_refused_names_each_part_and_shows_no_value(world: World) -> None:
    body = {"verdict": "FIXTURE", "duration": "FIXTURE", "extra": "FIXTURE"}
    reply = await world.owner.post(f"/v1/grants/{new_id('grt')}/decision", json=body)
    said = is_problem(reply)["detail"].split("; ")
    assert [part.partition(":")[0] for part in said] == [
        "verdict",
        "duration",
        "signature",
        "extra",
    ]
    assert "FIXTURE" not in reply.text


@pytest.mark.parametrize("path", ["/v1", "/v1/nothing", "/docs", "/v1/exec/", "/v1/tasks/x"])
async def test_what_is_not_there(world: World, path: str) -> None:
    reply = await world.owner.get(path, follow_redirects=True)
    assert is_problem(reply)["code"] in ("not_found", "method_not_allowed")


async def test_a_method_that_is_not_there_says_which_are(world: World) -> None:
    reply = await world.owner.delete("/v1/tasks")
    assert is_problem(reply)["code"] == "method_not_allowed"
    assert {word.strip() for word in reply.headers["allow"].split(",")} & {"GET", "POST"}
    shim = await world.owner.get("/v1/exec", headers={"Accept": SHIM_TYPE})
    assert (shim.status_code, shim.content[-15:]) == (405, b"verdict=refuse\0")


async def test_too_many_calls_say_so(tmp_path: Any) -> None:
    async with broker(tmp_path, calls_per_minute=2) as world:
        await world.local.post("/v1/projects", json={"name": "shop"})
        world.token = (await world.start())["token"]
        replies = [await world.call("s3", "ls") for _ in range(3)]
        assert [r.status_code for r in replies] == [200, 200, 429]
        assert is_problem(replies[-1])["code"] == RateLimited.code
        assert replies[-1].headers["retry-after"] == "1"
        other = (await world.start())["token"]
        assert (await world.shim("aws", "/", "", "s3", "ls", token=other))[0] == 200


async def test_a_fault_of_ours_tells_nothing(world: World) -> None:
    async def fails() -> None:
        raise KeyError("FIXTURE")

    world.running.app.add_api_route("/v1/fails", fails)  # type: ignore[union-attr]
    reply = await world.client(faults=False).get("/v1/fails")
    assert (reply.status_code, is_problem(reply)["code"]) == (500, "internal")
    assert "FIXTURE" not in reply.text
