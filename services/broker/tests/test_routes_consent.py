"""The consent page: what it shows, what a forged click can't do, and where it never leads."""

import html
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from broker_fixture import LINK, MODULE, OWNER, TCP, World
from broker_oauth import BACK, Client, client
from styx_core.contract.grants_people import EVERYWHERE

pytestmark = MODULE
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u202e{{7*7}}"


@pytest.fixture(autouse=True)
def undone(world: World) -> Iterator[None]:
    """What a test did to people or limits."""
    world.deps.limits._buckets.clear()
    yield
    world.grants.rows.roles[OWNER] = {EVERYWHERE: "owner"}
    world.grants.rows.roles.pop("guest", None)


def answered(reply: Any) -> dict[str, str]:
    """What the way back says."""
    where = reply.json()["location"]
    assert where.startswith(BACK)
    return {name: values[0] for name, values in parse_qs(urlsplit(where).query).items()}


async def test_it_shows_who_asks_for_what_and_runs_only_our_files(world: World) -> None:
    mine = await client(world, client_name=HOSTILE)
    reply = await mine.page()
    assert reply.status_code == 200
    text = html.unescape(reply.text)
    assert "<script>alert" not in reply.text
    assert "<img src=x" not in reply.text
    assert "⟨U+202E⟩" in text
    assert "{{7*7}}" in text
    for shown in (
        "It calls itself",
        "a program on this computer",
        OWNER,
        "shop",
        "Approve",
        "Deny",
    ):
        assert shown in text
    policy = reply.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert "location" not in reply.headers


async def test_a_yes_and_a_no_go_back_with_state_and_issuer(world: World) -> None:
    mine = await client(world)
    said = answered(await mine.says())
    assert said.pop("code").startswith("styx_oac_")
    assert said == {"state": "FIXTURE-state", "iss": LINK}
    said = answered(await mine.says(approve=False))
    assert (said["error"], said["state"], said["iss"]) == ("access_denied", "FIXTURE-state", LINK)
    assert "code" not in said
    said = answered(await mine.says(state=""))
    assert set(said) == {"code", "iss"}


async def test_a_way_back_over_tls_is_named(world: World) -> None:
    back = "https://app.example/cb?tab=1"
    mine = await client(world, redirect_uris=[back])
    assert "<strong>app.example</strong>" in (await mine.page(redirect_uri=back)).text
    where = (await mine.says(redirect_uri=back)).json()["location"]
    assert where.startswith(back + "&code=")


async def test_cursor_comes_back_by_its_own_scheme(world: World) -> None:
    back = "cursor://anysphere.cursor-mcp/oauth/callback"
    web = "https://www.cursor.com/agents/mcp/oauth/callback"
    mine = await client(world, redirect_uris=[back, web, "http://localhost:8787/callback"])
    assert "a program on this computer" in (await mine.page(redirect_uri=back)).text
    assert (await mine.says(redirect_uri=back)).json()["location"].startswith(back + "?code=")
    other = await client(world)
    assert (await other.page(redirect_uri=back)).status_code == 422, "which it did not register"


async def test_a_port_of_loopback_may_be_another_each_time(world: World) -> None:
    mine = await client(world)
    back = BACK.replace("3333", "50123")
    reply = await mine.says(redirect_uri=back)
    assert reply.json()["location"].startswith(back)


@pytest.mark.parametrize(
    "change",
    [
        {"client_id": "cli_unknown"},
        {"client_id": ""},
        {"client_id": "'\"<script>"},
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": "http://127.0.0.1:3333/other"},
        {"redirect_uri": "http://127.0.0.1:3333@evil.example/callback"},
        {"redirect_uri": "//evil.example/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": ""},
        {"state": "x" * 1025},
    ],
)
async def test_an_unknown_client_or_way_back_gets_a_page_and_no_redirect(
    world: World, change: dict[str, str]
) -> None:
    mine = await client(world)
    reply = await mine.page(**change)
    assert reply.status_code == 422
    assert "location" not in reply.headers
    assert "evil.example" not in reply.text
    assert "<script>" not in reply.text
    assert (await mine.says(**change)).status_code == 422
    assert (await mine.says(approve=False, **change)).status_code == 422


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"response_type": "token"}, "unsupported_response_type"),
    ],
)
async def test_a_wrong_request_is_told_when_the_person_goes_back(
    world: World, change: dict[str, str], error: str
) -> None:
    mine = await client(world)
    reply = await mine.page(**change)
    assert reply.status_code == 400
    assert "location" not in reply.headers, "nothing leads anywhere by itself"
    link = html.unescape(reply.text.partition('rel="noreferrer" href="')[2].partition('"')[0])
    said = parse_qs(urlsplit(link).query)
    assert link.startswith(BACK)
    assert (said["error"], said["iss"], said["state"]) == ([error], [LINK], ["FIXTURE-state"])
    assert "data-consent" not in reply.text
    refused = await mine.says(**change)
    assert (refused.status_code, refused.json()["error"]) == (400, error)


async def test_a_parameter_twice_is_no_request(world: World) -> None:
    mine = await client(world)
    for twice in ("&redirect_uri=https://evil.example/", f"&client_id={mine.id}", "&state=2"):
        path = f"/oauth/authorize?{mine.query()}{twice}"
        reply = await mine.browser.get(path, headers={"Accept": "text/html"})
        assert reply.status_code == 422


async def test_a_stranger_signs_in_first_and_comes_back(world: World) -> None:
    mine = await client(world)
    path = f"/oauth/authorize?{mine.query()}"
    reply = await world.client(TCP).get(path, headers={"Accept": "text/html"})
    assert reply.status_code == 303
    where = urlsplit(reply.headers["location"])
    assert where.path == "/signin"
    assert parse_qs(where.query)["next"] == [path]
    signin = await world.client(LINK).get(reply.headers["location"])
    assert f'data-next="{html.escape(path)}"' in signin.text
    assert (await world.client(TCP).post(path, json={"approve": True})).status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Styx-CSRF": "f" * 64, "Origin": LINK},
        {"Styx-CSRF": "right", "Origin": "https://evil.example"},
        {"Styx-CSRF": "right", "Origin": "null"},
        {"Origin": LINK},
    ],
)
async def test_a_click_that_another_page_forged_is_refused(
    world: World, headers: dict[str, str]
) -> None:
    mine = await client(world)
    shown = {n: mine.csrf if value == "right" else value for n, value in headers.items()}
    path, body = f"/oauth/authorize?{mine.query()}", {"approve": True, "project": world.project}
    assert (await mine.browser.post(path, json=body, headers=shown)).status_code == 403
    form = await mine.browser.post(path, data={"approve": "true"}, headers=shown)
    assert form.status_code in (403, 422)


async def guest(world: World, project: str, role: str) -> Client:
    """A client, and the browser of somebody with one role in one project."""
    world.grants.rows.roles["guest"] = {project: role}  # type: ignore[dict-item]
    return await client(world, "guest")


async def test_nobody_lets_a_client_into_another_s_project(world: World) -> None:
    made = await world.owner.post("/v1/projects", json={"name": "elsewhere"})
    theirs = await guest(world, made.json()["id"], "member")
    text = (await theirs.page()).text
    assert "elsewhere" in text
    assert world.project not in text
    reply = await theirs.says()
    assert (reply.status_code, reply.json()["code"]) == (404, "unknown_project")


async def test_an_auditor_lets_nobody_in(world: World) -> None:
    theirs = await guest(world, world.project, "auditor")
    assert "You may run agents in no project" in (await theirs.page()).text
    assert (await theirs.says()).status_code == 403
    assert answered(await theirs.says(approve=False))["error"] == "access_denied"


async def test_neither_a_key_nor_the_socket_consents(world: World) -> None:
    mine = await client(world)
    body = {"project": "shop", "name": "k", "may": ["look", "run", "agent"]}
    key = (await world.owner.post("/v1/api-keys", json=body)).json()["key"]
    path, said = f"/oauth/authorize?{mine.query()}", {"approve": True, "project": world.project}
    for caller in (world.client(token=key), world.local):
        assert (await caller.post(path, json=said)).status_code == 403


async def test_a_client_is_revoked_by_its_person_or_an_owner_alone(world: World) -> None:
    theirs = await guest(world, world.project, "member")
    await theirs.tokens()
    (seen,) = (await theirs.browser.get("/v1/clients")).json()
    assert seen["person"] == "guest"
    mine = await client(world)
    await mine.tokens()
    own = [c for c in (await world.owner.get("/v1/clients")).json() if c["person"] == OWNER]
    headers = {"Styx-CSRF": theirs.csrf, "Origin": LINK}
    foreign = f"/v1/clients/{own[0]['id']}/revoke"
    assert (await theirs.browser.post(foreign, headers=headers)).status_code == 404
    assert (await theirs.browser.post(f"/v1/clients/{seen['id']}/revoke")).status_code == 403
    assert (await world.owner.post(f"/v1/clients/{seen['id']}/revoke")).status_code == 200
    assert (await theirs.browser.get("/v1/clients")).json() == []
