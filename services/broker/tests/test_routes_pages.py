"""The pages: what lets strangers in, what agents may put on them, and what they let run."""

import asyncio
import re

import httpx
import pytest
from broker_fixture import LINK, MODULE, REMOVE, TCP, World
from styx_broker import rendering
from styx_broker.routes_pages import own_path
from styx_core.ids import new_id
from test_routes_signin import signed_in

pytestmark = MODULE
GRANT = new_id("grt")
OPEN = ("/signin", "/admin", "/join")
OURS = (
    *("/", "/approvals/cards", "/board", "/targets", "/targets/connect", "/policies"),
    *("/audit-log", "/settings"),
)
"""For who is signed in."""
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e{{7777*7777}}${7}"


async def page(world: World, path: str) -> httpx.Response:
    """A page as the owner sees it."""
    client, _ = await signed_in(world)
    return await client.get(path, headers={"Accept": "text/html"})


@pytest.mark.parametrize("path", [*OPEN, *OURS])
async def test_a_page_runs_only_our_files_and_is_framed_by_nobody(world: World, path: str) -> None:
    reply = await page(world, path)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/html")
    parts = (p.strip().partition(" ") for p in reply.headers["content-security-policy"].split(";"))
    policy = {name: value for name, _, value in parts}
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in reply.headers["content-security-policy"]
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert not re.search(r"<script(?![^>]* src=)|<style|\bon\w+=|=.https?://|style=", reply.text)


@pytest.mark.parametrize("path", [*OURS, f"/grants/{GRANT}"])
async def test_a_stranger_is_led_to_the_sign_in_and_back(world: World, path: str) -> None:
    reply = await world.client(TCP).get(path)
    assert reply.status_code == 303
    assert reply.headers["location"] == f"/signin?next={path.replace('/', '%2F')}"
    assert world.grants.heard == []


async def test_a_stranger_learns_of_no_grant(world: World) -> None:
    world.grants.effect = lambda _command: "active"
    await world.call(*REMOVE)
    (kept,) = world.grants.rows.kept.values()
    replies = [await world.client(TCP).get(f"/grants/{g}") for g in (kept.id, GRANT)]
    assert [r.status_code for r in replies] == [303, 303]
    known = await page(world, f"/grants/{kept.id}")
    assert (known.status_code, "s3 rm s3://b/k" in known.text) == (200, True)
    assert (await page(world, f"/grants/{GRANT}")).status_code == 404


@pytest.mark.parametrize(
    "where",
    [
        *("//evil.example", "/\\evil.example", "https://evil.example", "javascript:alert(1)"),
        *("/a\\b", "\\\\evil", "/\nevil", "/\t/evil", "evil", "", "/é"),
    ],
)
async def test_the_sign_in_leads_nowhere_else(where: str) -> None:
    assert own_path(where) == "/"


@pytest.mark.parametrize("where", ["/", "/grants/grt_1", "/settings", "/a?b=c"])
async def test_the_sign_in_leads_back(where: str) -> None:
    assert own_path(where) == where


async def test_what_an_agent_wrote_is_shown_and_never_run(world: World) -> None:
    world.token, usual = (await world.start(agent="agent", name=HOSTILE))["token"], world.token
    call = asyncio.create_task(world.call("s3", "rm", f"s3://b/{HOSTILE}"))
    await world.pending()
    world.token = usual
    shown = (await page(world, "/")).text
    call.cancel()
    for text in (shown, (await page(world, "/approvals/cards")).text):
        assert "<script>alert" not in text
        assert "<img" not in text.replace('<img src="/static', "")
        assert "\u202e" not in re.sub(r'data-\w+="[^"]*"', "", text)
        assert "⟨U+202E⟩" in text
        assert "{{7777*7777}}" in text
        assert str(7777 * 7777) not in text


@pytest.mark.parametrize(
    ("query", "status", "shown"),
    [
        ("provider=aws&method=federation", 200, "data-connect"),
        ("provider=aws&method=key", 200, "In a terminal:"),
        ("provider=acme", 422, "provider: one of aws"),
        ("provider=aws&method=nothing", 422, "method: aws has"),
        ("project=nowhere", 404, "no project &#39;nowhere&#39;"),
    ],
)
async def test_a_target_is_connected_by_what_its_provider_declares(
    world: World, query: str, status: int, shown: str
) -> None:
    reply = await page(world, f"/targets/connect?project=shop&{query}".replace("shop&project=", ""))
    assert (reply.status_code, shown in reply.text) == (status, True)


async def test_only_an_owner_connects_targets(world: World) -> None:
    world.grants.rows.roles["guest"] = {"*": "approver"}
    client, _ = await signed_in(world, "guest")
    reply = await client.get("/targets/connect?project=shop")
    assert (reply.status_code, reply.json()["detail"]) == (403, "this needs the role owner in shop")
    assert "Connect a target" not in (await client.get("/targets")).text


async def test_a_wrong_address_is_a_page_for_people_and_a_problem_for_programs(
    world: World,
) -> None:
    reply = await page(world, "/nothing")
    assert (reply.status_code, "<h1>Not found</h1>" in reply.text) == (404, True)
    plain = await world.client(LINK).get("/nothing")
    assert plain.headers["content-type"] == "application/problem+json"
    api = await world.client(LINK).get("/v1/nothing", headers={"Accept": "text/html"})
    assert api.headers["content-type"] == "application/problem+json"


async def test_our_files_are_kept_for_good_under_their_digest(world: World) -> None:
    for name in rendering.STATIC:
        reply = await world.client(LINK).get(f"/static/{rendering.DIGEST}/{name}")
        assert (reply.status_code, reply.content) == (200, rendering.STATIC[name])
        assert "immutable" in reply.headers["cache-control"]
    for path in (f"/static/{rendering.DIGEST}/../app.py", f"/static/{'0' * 16}/styx.css"):
        assert (await world.client(LINK).get(path)).status_code == 404


async def test_a_bare_address_leads_to_the_name_that_passkeys_are_for(world: World) -> None:
    usual = world.deps.settings
    world.deps.settings = usual.model_copy(update={"public_url": "http://127.0.0.1:4100"})
    try:
        reply = await world.client("http://127.0.0.1:4100").get("/signin?next=/board")
        assert reply.status_code == 307
        assert reply.headers["location"] == "http://localhost:4100/signin?next=/board"
        assert (await world.client("http://localhost:4100").get("/signin")).status_code == 200
    finally:
        world.deps.settings = usual
