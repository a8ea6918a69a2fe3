"""Signing in and out, and what a signed-in browser may not be made to do by another site's page."""

import base64
from typing import Any

import httpx
import pytest
from broker_adapters import START
from broker_fixture import LINK, MODULE, OWNER, World, broker
from styx_broker import sessions
from styx_broker.tokens import fingerprint
from styx_core.contract.broker import IdentifyPerson, PersonIdentity
from styx_core.contract.grants_people import CloseSession, EnrolApprover, OpenSession
from styx_core.contract.values import Registration
from styx_core.errors import Unauthenticated

pytestmark = MODULE
COOKIE = "__Host-styx"
POINT = base64.b64encode(b"\x04" + b"p" * 64).decode()


def assertion(person: str = OWNER) -> dict[str, str]:
    """What the played `grants` takes for a passkey of somebody's."""
    whole = dict.fromkeys(("client_data", "authenticator_data", "signature"), "AAAA")
    return {**whole, "credential_id": person}


async def signed_in(world: World, person: str = OWNER) -> tuple[httpx.AsyncClient, str]:
    """A browser with its cookie, and the token that its pages show."""
    client = world.client(LINK)
    nonce = (await client.post("/v1/signin/nonce")).json()["nonce"]
    body = {"nonce": nonce, "session_key": POINT, "assertion": assertion(person)}
    reply = await client.post("/v1/signin", json=body)
    assert reply.status_code == 201, reply.text
    return client, sessions.csrf_token(client.cookies[COOKIE])


@pytest.fixture
async def browser(world: World) -> tuple[httpx.AsyncClient, str]:
    return await signed_in(world)


async def test_a_passkey_signs_in_and_the_cookie_is_for_this_site_alone(world: World) -> None:
    client = world.client(LINK)
    nonce = (await client.post("/v1/signin/nonce")).json()["nonce"]
    body = {"nonce": nonce, "session_key": POINT, "assertion": assertion()}
    reply = await client.post("/v1/signin", json=body)
    assert (reply.status_code, reply.json()) == (201, {"person": OWNER, "session": "5" * 64})
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-styx=styx_web_")
    assert {"Secure", "HttpOnly", "SameSite=lax", "Path=/", "Max-Age=43200"} <= set(
        cookie.split("; ")
    )
    (asked,) = world.grants.got(OpenSession)
    assert (asked.nonce, asked.session_key) == (nonce, POINT)
    assert client.cookies[COOKIE].encode() not in world.everything()
    again = await world.client(LINK).post("/v1/signin", json=body)
    assert (again.status_code, again.json()["code"]) == (401, "unauthenticated"), "used once"


async def test_an_unknown_passkey_signs_nobody_in(world: World) -> None:
    client = world.client(LINK)
    nonce = (await client.post("/v1/signin/nonce")).json()["nonce"]
    body = {"nonce": nonce, "session_key": POINT, "assertion": assertion("stranger")}
    reply = await client.post("/v1/signin", json=body)
    assert (reply.status_code, reply.json()["code"]) == (403, "signature_refused")
    assert "set-cookie" not in reply.headers


async def test_a_browser_sees_what_its_person_sees_and_is_signed_out(
    world: World, browser: tuple[httpx.AsyncClient, str]
) -> None:
    client, token = browser
    assert (await client.get("/v1/me")).json()["person"] == OWNER
    assert (await client.get("/v1/tasks")).status_code == 200
    cookie = client.cookies[COOKIE]
    out = await client.post("/v1/signout", headers={sessions.CSRF: token, "Origin": LINK})
    assert (out.status_code, 'styx=""' in out.headers["set-cookie"]) == (200, True)
    assert [c.session for c in world.grants.got(CloseSession)] == ["5" * 64]
    old = world.client(LINK)
    old.cookies.set(COOKIE, cookie, domain="styx.example")
    assert (await old.get("/v1/me")).status_code == 401, "also for who has kept the cookie"


FORGED: list[dict[str, str]] = [
    {},
    {"Origin": LINK},
    {sessions.CSRF: "", "Origin": LINK},
    {sessions.CSRF: "0" * 64, "Origin": LINK},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": LINK + ".evil.example"},
]


@pytest.mark.parametrize("headers", FORGED, ids=str)
async def test_another_site_s_page_makes_it_do_nothing(
    world: World, browser: tuple[httpx.AsyncClient, str], headers: dict[str, str]
) -> None:
    client, token = browser
    if headers.get("Origin", "").startswith(("https://evil", "null", LINK + ".")):
        headers = {**headers, sessions.CSRF: token}
    for method, path in (
        ("POST", "/v1/projects"),
        ("POST", f"/v1/tasks/{world.task}/end"),
        ("PUT", "/v1/projects/shop/policy"),
        ("POST", "/v1/invitations"),
        ("POST", "/v1/signout"),
    ):
        reply = await client.request(method, path, json={"name": "forged"}, headers=headers)
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden"), path
    assert (await client.get("/v1/me")).status_code == 200
    names = {project["name"] for project in (await client.get("/v1/projects")).json()}
    assert "forged" not in names


async def test_its_own_page_may(browser: tuple[httpx.AsyncClient, str]) -> None:
    client, token = browser
    headers = {sessions.CSRF: token, "Origin": LINK}
    reply = await client.post("/v1/projects", json={"name": "by-page"}, headers=headers)
    assert reply.status_code == 201


@pytest.mark.parametrize("path", ["/v1/claim", "/v1/signin", "/v1/signin/nonce"])
async def test_not_even_signing_in_is_another_site_s_to_start(world: World, path: str) -> None:
    body: dict[str, Any] = {"code": "c", "person": "x", "key": "AAAA"}
    body = body if path.endswith("claim") else {}
    if path.endswith("signin"):
        body = {"nonce": "n", "session_key": POINT, "assertion": assertion()}
    headers = {"Origin": "https://evil.example"}
    reply = await world.client(LINK).post(path, json=body, headers=headers)
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_who_lost_every_role_is_out_though_signed_in(world: World) -> None:
    world.grants.rows.roles["leaver"] = {"*": "member"}
    client, _ = await signed_in(world, "leaver")
    assert (await client.get("/v1/me")).status_code == 200
    world.grants.rows.roles["leaver"] = {}
    reply = await client.get("/v1/me")
    assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")


async def test_a_member_of_one_project_sees_no_other(world: World) -> None:
    world.grants.rows.roles["guest"] = {"prj_00000000000000000000000000": "owner"}
    client, token = await signed_in(world, "guest")
    headers = {sessions.CSRF: token, "Origin": LINK}
    assert (await client.get("/v1/projects")).json() == []
    assert (await client.get("/v1/tasks")).json() == []
    for path in ("projects/shop/policy", "grants?project=shop", "targets?project=shop"):
        reply = await client.get(f"/v1/{path}")
        assert (reply.status_code, reply.json()["code"]) == (404, "unknown_project"), path
    started = await client.post("/v1/tasks", json={"project": "shop"}, headers=headers)
    assert started.status_code == 404
    ended = await client.post(f"/v1/tasks/{world.task}/end", headers=headers)
    assert (ended.status_code, ended.json()["code"]) == (404, "unknown_task")
    made = await client.post("/v1/projects", json={"name": "mine"}, headers=headers)
    assert made.status_code == 403
    assert OWNER not in {p["person"] for p in (await client.get("/v1/people")).json()} or all(
        not person["keys"] for person in (await client.get("/v1/people")).json()
    )


async def test_a_passkey_claims_the_first_link_too(tmp_path: Any) -> None:
    async with broker(tmp_path) as alone:
        assert alone.running.first_start is not None
        code = await alone.running.first_start()
        key = {"label": "phone", "client_data": "AAAA", "attestation_object": "AAAA"}
        body = {"code": code, "person": "ada", "key": key}
        reply = await alone.client(LINK).post("/v1/claim", json=body)
        assert (reply.status_code, reply.json()) == (201, {"person": "ada"})
        (asked,) = alone.grants.got(EnrolApprover)
        assert isinstance(asked.key, Registration)
        client, _ = await signed_in(alone, "ada")
        assert (await client.get("/v1/me")).json()["roles"] == {"*": "owner"}


async def test_sign_ins_are_limited_by_where_they_come_from(tmp_path: Any) -> None:
    async with broker(tmp_path) as alone:
        app = alone.running.app
        stranger, other = (
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app, client=(host, 1)),  # type: ignore[arg-type]
                base_url=LINK,
            )
            for host in ("192.0.2.1", "192.0.2.2")
        )
        tries = [(await stranger.post("/v1/signin/nonce")).status_code for _ in range(61)]
        assert tries == [201] * 60 + [429]
        assert (await other.post("/v1/signin/nonce")).status_code == 201
        await stranger.aclose()
        await other.aclose()


async def test_a_nonce_is_too_old_after_five_minutes(world: World) -> None:
    client = world.client(LINK)
    nonce = (await client.post("/v1/signin/nonce")).json()["nonce"]
    usual = world.deps.now
    world.deps.now = lambda: START.replace(hour=(START.hour + 1) % 24)
    try:
        body = {"nonce": nonce, "session_key": POINT, "assertion": assertion()}
        assert (await client.post("/v1/signin", json=body)).status_code == 401
    finally:
        world.deps.now = usual


async def test_audit_knows_a_signed_in_browser_until_it_has_signed_out(
    world: World, browser: tuple[httpx.AsyncClient, str]
) -> None:
    client, token = browser
    audit = world.bus.as_service("audit")
    asked = IdentifyPerson(bearer_sha256=fingerprint(client.cookies[COOKIE]))
    assert await audit.request(asked) == PersonIdentity(person=OWNER, everywhere=True)
    await client.post("/v1/signout", headers={sessions.CSRF: token})
    with pytest.raises(Unauthenticated):
        await audit.request(asked)


async def test_two_on_one_host_have_cookies_of_their_own(world: World) -> None:
    usual = world.deps.settings
    names = set()
    for url in (LINK, "http://localhost:1", "http://127.0.0.1:2"):
        world.deps.settings = usual.model_copy(update={"public_url": url})
        names.add(sessions.cookie_name(world.deps))
    world.deps.settings = usual
    assert names == {"__Host-styx", "__Host-styx-1", "__Host-styx-2"}
