"""Single sign-on by an OpenID provider on loopback: who looks is proven, nothing is signed."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio
from broker_fixture import OWNER, World, broker
from joserfc import jwt
from joserfc.jwk import RSAKey
from oidc_provider_mock import User, run_server_in_thread
from styx_broker.oidc import RelyingParty
from styx_broker.oidc_attempt import Attempt
from styx_core.contract.broker import PersonSignedIn
from styx_core.errors import ProviderFailed, Unauthenticated
from styx_core.settings import Settings

BACK = "/signin/oidc/back"
HERE = "https://styx.example:4100"


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """An OpenID provider where everybody is who they say."""
    users = [
        User(sub="1", claims={"preferred_username": OWNER, "email": "o@x", "email_verified": True}),
        User(sub="2", claims={"preferred_username": "eve"}),
        User(sub="3", claims={"email": OWNER, "email_verified": False}),
    ]
    with run_server_in_thread(user_claims=users, require_nonce=True) as server:
        yield f"http://localhost:{server.server_port}"


@pytest_asyncio.fixture
async def world(tmp_path: Path, provider: str) -> AsyncIterator[World]:
    """A claimed broker that trusts the provider."""
    settings = {"oidc_issuer": provider, "oidc_client_id": "styx"}
    settings |= {"oidc_client_secret": "FIXTURE-secret"}
    async with broker(
        tmp_path, **settings, oidc_claim="preferred_username", public_url=HERE
    ) as made:
        made.deps.now = lambda: datetime.now(UTC)
        await made.claim()
        yield made


def browser(world: World) -> httpx.AsyncClient:
    client = world.client(HERE)
    client.headers["Accept"] = "text/html"
    return client


async def out(client: httpx.AsyncClient, sub: str, after: str = "/board") -> str:
    """Leave for the provider, be somebody there; the path that leads back."""
    left = await client.get("/signin/oidc", params={"next": after})
    assert left.status_code == 303, left.text
    where = left.headers["location"]
    assert parse_qs(urlsplit(where).query)["code_challenge_method"] == ["S256"]
    async with httpx.AsyncClient() as person:
        said = await person.post(where, data={"sub": sub})
    assert said.status_code == 302, said.text
    assert said.headers["location"].startswith(HERE + BACK)
    return str(said.headers["location"])


async def test_somebody_known_is_signed_in_and_led_on(world: World) -> None:
    client = browser(world)
    assert "/signin/oidc" in (await client.get("/signin")).text
    came = await client.get(await out(client, "1"))
    assert came.status_code == 303, came.text
    assert came.headers["location"] == "/board"
    page = await client.get("/board")
    assert page.status_code == 200
    assert OWNER in page.text
    assert 'name="styx-session" content=""' in page.text, "no key signs for this session"
    (event,) = await world.told(PersonSignedIn)
    assert event.person == OWNER
    csrf = page.text.split('name="styx-csrf" content="')[1].split('"')[0]
    gone = await client.post("/v1/signout", headers={"Styx-CSRF": csrf, "Origin": HERE})
    assert gone.status_code == 200
    assert world.grants.rows.closed == [], "there was no session's key to close"
    assert (await client.get("/board")).status_code == 303


async def test_somebody_unknown_is_told_to_be_invited(world: World) -> None:
    client = browser(world)
    came = await client.get(await out(client, "2"))
    assert came.status_code == 403
    assert "ask an owner to invite that name" in came.text
    assert (await client.get("/board")).status_code == 303


async def test_an_answer_is_of_the_browser_that_asked_and_works_once(world: World) -> None:
    client, other = browser(world), browser(world)
    back = await out(client, "1")
    assert (await other.get(back)).status_code == 401
    await other.get("/signin/oidc")
    assert (await other.get(back)).status_code == 401, "its own attempt has another state"
    assert (await client.get(back)).status_code == 303
    assert (await client.get(back)).status_code == 401, "the cookie is gone with the first"


@pytest.mark.parametrize("query", ["", "?state=x", "?error=access_denied", "?code=FIXTURE&state="])
async def test_garbage_comes_back_as_a_refusal(world: World, query: str) -> None:
    client = browser(world)
    await client.get("/signin/oidc")
    assert (await client.get(BACK + query)).status_code == 401


@pytest.mark.parametrize("after", ["https://evil.example", "//evil.example", "/\\evil.example"])
async def test_nobody_is_led_elsewhere(world: World, after: str) -> None:
    client = browser(world)
    came = await client.get(await out(client, "1", after))
    assert came.headers["location"] == "/"


async def test_without_a_provider_there_is_no_such_way(tmp_path: Path) -> None:
    async with broker(tmp_path, public_url=HERE) as world:
        client = browser(world)
        assert "/signin/oidc" not in (await client.get("/signin")).text
        assert (await client.get("/signin/oidc")).status_code == 422


async def test_a_provider_that_is_away_is_named(tmp_path: Path) -> None:
    settings = {"oidc_issuer": "http://127.0.0.1:9", "oidc_client_id": "styx"}
    async with broker(tmp_path, **settings, public_url=HERE) as world:
        reply = await browser(world).get("/signin/oidc")
        assert (reply.status_code, "does not answer" in reply.text) == (502, True)


KEY = RSAKey.generate_key(2048)
NOW = 1_767_614_400
ATTEMPT = Attempt("state", "nonce", "verifier", "/")
SAID = {
    "iss": "http://localhost:1",
    "aud": "styx",
    "sub": "1",
    "nonce": "nonce",
    "iat": NOW,
    "exp": NOW + 300,
    "email": "ada@example.org",
    "email_verified": True,
}


class Played(RelyingParty):
    """The relying party with the checks alone: what the provider would have sent is given."""

    def check(self, claims: dict[str, Any]) -> str:
        self._check(claims, ATTEMPT, NOW)
        return self._person(claims)


def rp(**over: str) -> Played:
    known = {"oidc_issuer": "http://localhost:1", "oidc_client_id": "styx", **over}
    return Played(Settings(**known), HERE + BACK)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "over",
    [
        {"iss": "http://localhost:2"},
        {"aud": "another"},
        {"aud": ["styx", "another"], "azp": "another"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": NOW - 120},
        {"iat": NOW + 3600},
        {"sub": None},
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": None},
        {"email": 7},
    ],
    ids=str,
)
def test_a_token_of_another_kind_is_nobody_s(over: dict[str, Any]) -> None:
    assert rp().check(dict(SAID)) == "ada@example.org"
    claims = {name: value for name, value in (SAID | over).items() if value is not None}
    with pytest.raises(Exception) as refused:
        rp().check(claims)
    assert type(refused.value).__module__.split(".")[0] in ("joserfc", "styx_core")


async def test_a_token_signed_by_another_key_is_nobody_s(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    forged = jwt.encode({"alg": "RS256"}, SAID | {"iss": provider}, KEY)
    party = RelyingParty(Settings(oidc_issuer=provider, oidc_client_id="styx"), HERE + BACK)

    async def fetched(*_args: Any, **_more: Any) -> dict[str, str]:
        return {"id_token": forged}

    monkeypatch.setattr("authlib.integrations.httpx_client.AsyncOAuth2Client.fetch_token", fetched)
    with pytest.raises(Unauthenticated, match="not one to trust"):
        await party.arrive(ATTEMPT, {"state": "state", "code": "FIXTURE"}, NOW)


async def test_metadata_of_another_issuer_is_refused(provider: str) -> None:
    party = RelyingParty(
        Settings(oidc_issuer=f"{provider}/", oidc_client_id="styx"),
        HERE + BACK,
    )
    with pytest.raises(ProviderFailed):
        await party.leave(ATTEMPT)
