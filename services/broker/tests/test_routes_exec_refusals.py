"""Calls that end at the broker or in a part that is away: named, recorded, and nothing asked."""

import json
from typing import Any

import httpx
import pytest
from broker_fixture import LIST, MODULE, World, until
from styx_broker.exec_wire import MOST_BYTES, SHIM_TYPE
from styx_core.contract.adapters import Issue
from styx_core.contract.broker import CallRefused
from styx_core.contract.grants import Authorize
from styx_core.errors import NotConnected, ProviderFailed, Unavailable, Unrecorded

pytestmark = MODULE
JSON = "application/json"
GOOD = {"tool": "aws", "argv": LIST}


def body(**changed: Any) -> bytes:
    return json.dumps({**GOOD, **changed}).encode()


async def post(world: World, content: bytes, kind: str, **headers: str) -> httpx.Response:
    agent = world.client(token=world.token)
    return await agent.post("/v1/exec", content=content, headers={"Content-Type": kind, **headers})


def problem(reply: httpx.Response, status: int, code: str) -> str:
    """The detail of a problem (RFC 9457) of this kind."""
    assert reply.headers["content-type"] == "application/problem+json"
    found = reply.json()
    assert (reply.status_code, found["status"], found["code"]) == (status, status, code)
    assert found["retryable"] == (status >= 500)
    assert (reply.headers.get("retry-after") == "1") == (status >= 500)
    return str(found["detail"])


@pytest.mark.parametrize(
    ("content", "kind", "what"),
    [
        (body(), "", "content type: say application/json or application/x-styx-exec"),
        (body(), "text/plain", "content type:"),
        (b"aws\0/\0\0s3\0ls", "application/octet-stream", "content type:"),
        (body(), SHIM_TYPE, "body: tool, cwd and public key"),
        (body()[:-3], JSON, "body: Invalid JSON"),
        (b"", JSON, "body: Invalid JSON"),
        (b"", SHIM_TYPE, "body: tool, cwd and public key"),
        (body(argv=["s3", "a\0b"]), JSON, "argument 2 holds a NUL"),
        (b"aws\0/\0\0s3\0\xff\xfe", SHIM_TYPE, "argument 2 is not UTF-8"),
        (body(argv=["x" * 5 * 2**20]), JSON, f"body: Styx reads at most {MOST_BYTES} bytes"),
        (b"aws\0/\0\0" + b"x" * 5 * 2**20, SHIM_TYPE, "body: Styx reads at most"),
        (body(argv=["x"] * 20_001), JSON, "argv: Tuple should have at most 20000 items"),
        (body(target="t" * 129), JSON, "target: String should have at most 128"),
        (body(env={"A": "FIXTURE"}), JSON, "env: Extra inputs"),
        (b"a" * 65 + b"\0/\0", SHIM_TYPE, "tool: String should have at most 64"),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_body_that_is_no_call(world: World, content: bytes, kind: str, what: str) -> None:
    said = problem(await post(world, content, kind), 422, "invalid")
    assert said.startswith(what)
    assert "FIXTURE" not in said
    assert world.grants.heard == []
    (told,) = await world.told(CallRefused)
    assert (told.code, told.why, told.task_id) == ("invalid", said, world.task)


async def test_what_redaction_makes_too_long_is_refused_by_its_place(world: World) -> None:
    word = "password=FIXTURE1 " * 7200
    assert len(word) < 131_072
    reply = await post(world, body(argv=["s3", "ls", word]), JSON)
    assert problem(reply, 422, "invalid").startswith("command.3: String should have at most")
    assert world.grants.heard == []


async def test_far_more_than_is_read_is_cut_off(world: World) -> None:
    reply = await post(world, b"x" * (2 * MOST_BYTES + 1), JSON)
    assert reply.status_code == 413
    assert world.grants.heard == []


@pytest.mark.parametrize("kind", [JSON, f"{JSON}; charset=utf-8", "Application/JSON"])
async def test_a_content_type_in_each_of_its_spellings(world: World, kind: str) -> None:
    assert (await post(world, body(target="staging"), kind)).status_code == 200


async def test_ten_thousand_words_and_none_at_all(world: World) -> None:
    world.grants.effect = lambda _command: "active"
    many = [f"s3://b/{n}" for n in range(10_000)]
    assert (await world.call("s3", "rm", *many)).status_code == 200
    assert (await world.call()).status_code == 200
    assert (await world.shim("aws", "/", ""))[1][-1] == "verdict=run"
    assert (await world.shim("aws", "/", "", ""))[1][-1] == "verdict=run"
    commands = [asked.command for asked in world.grants.got(Authorize)]
    assert commands == [("aws", "s3", "rm", *many), ("aws",), ("aws",), ("aws", "")]


async def test_a_traceparent_that_is_none(world: World) -> None:
    for value in (b"FIXTURE", b"00-" + b"f" * 500, b"00-\xff-1-1"):
        headers = {b"Content-Type": JSON.encode(), b"Traceparent": value}
        agent = world.client(token=world.token)
        reply = await agent.post("/v1/exec", content=body(target="staging"), headers=headers)
        assert reply.status_code == 200


async def test_an_unknown_tool(world: World) -> None:
    said = problem(await world.call(tool="acme"), 404, "unknown_tool")
    assert "no provider owns the tool 'acme'; known: aws, gh, ssh" in said
    status, fields = await world.shim("acme", "/", "")
    assert (status, fields) == (404, [f"say={said}", "exit=64", "verdict=refuse"])
    assert world.grants.heard == []


async def test_a_secret_in_the_place_of_a_tool_is_not_recorded(world: World) -> None:
    key = "AKIA" + "FIXTUREFIXTURE23"
    await world.call(tool=key)
    (told,) = await world.told(CallRefused)
    assert (told.code, "[REDACTED]" in told.why) == ("unknown_tool", True)
    assert key.encode() not in world.everything()


async def test_an_unknown_target(world: World) -> None:
    said = problem(await world.call(*LIST, target="nowhere"), 404, "unknown_target")
    assert said == "no target 'nowhere' in this project"
    status, fields = await world.shim("aws", "/", "", *LIST, **{"Styx-Target": "nowhere"})
    assert (status, fields[-2:]) == (404, ["exit=64", "verdict=refuse"])
    assert world.adapters.heard == []


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("aws", ("sts", "get-session-token")),
        ("aws", ("sts", "assume-role", "--role-arn", "arn:aws:iam::1:role/r")),
        ("aws", ("configure", "export-credentials")),
        ("aws", ("iam", "create-access-key")),
        ("aws", ("ecr", "get-login-password")),
        ("gh", ("auth", "token")),
        ("gh", ("auth", "status", "--show-token")),
    ],
)
async def test_what_mints_a_credential_is_nobodys_to_run(
    world: World, name: str, argv: tuple[str, ...]
) -> None:
    world.grants.effect = lambda _command: "active"
    assert "outlive its grant" in problem(await world.call(*argv, tool=name), 403, "forbidden")
    _, fields = await world.shim(name, "/", "", *argv)
    assert fields[-2:] == ["exit=77", "verdict=refuse"]
    assert world.grants.heard == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Unavailable("the database can't take this now"), 69),
        (Unrecorded("the event stream did not confirm the record"), 69),
        (NotConnected("the login of staging has expired"), 77),
    ],
)
async def test_what_grants_refuses_goes_on_as_it_is(
    world: World, error: Unavailable | Unrecorded | NotConnected, code: int
) -> None:
    world.grants.fails[Authorize] = error
    assert problem(await world.call(*LIST), error.status, error.code) == error.detail
    status, fields = await world.shim("aws", "/", "", *LIST)
    assert status == error.status
    assert fields == [f"say={error.detail}", f"exit={code}", "verdict=refuse"]
    assert {told.code for told in await world.told(CallRefused, 2)} == {error.code}


async def test_adapters_fail_at_their_provider(world: World) -> None:
    world.adapters.fails[Issue] = ProviderFailed("AWS answered 500")
    assert problem(await world.call(*LIST), 502, "provider_failed") == "AWS answered 500"


async def test_a_fault_of_grants_own_tells_nothing(world: World) -> None:
    world.grants.effect = lambda _command: {}["FIXTURE"]  # type: ignore[index]
    reply = await world.call(*LIST)
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "FIXTURE" not in reply.text


async def test_the_bus_is_away(world: World) -> None:
    world.bus.away = True
    assert "the bus is away" in problem(await world.call(*LIST), 503, "unavailable")
    status, fields = await world.shim("aws", "/", "", *LIST)
    assert (status, fields[-2:]) == (503, ["exit=69", "verdict=refuse"])
    report = await world.client(token=world.token).post(
        "/v1/exec/exe_00000000000000000000000000/report", content=b"exit=0"
    )
    problem(report, 503, "unavailable")
    world.bus.away = False
    await until(lambda: len(world.events(CallRefused)) == 2)  # kept meanwhile
