"""An OAuth client to test the broker with: it registers, sends its person, redeems, refreshes."""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from broker_fixture import LINK, OWNER, World
from styx_broker.tokens import fingerprint
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from test_routes_signin import signed_in

BACK = "http://127.0.0.1:3333/callback"
VERIFIER = "FIXTURE-verifier-" + "v" * 40
S256 = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
NAME = "Claude Code"


@dataclass
class Client:
    """A client as it registered itself, and the browser of its person."""

    world: World
    id: str
    browser: httpx.AsyncClient
    csrf: str

    def query(self, **change: str) -> str:
        """An authorization request; an empty value leaves a parameter out."""
        said = {"response_type": "code", "client_id": self.id, "redirect_uri": BACK}
        said |= {"code_challenge": S256, "code_challenge_method": "S256", "state": "FIXTURE-state"}
        said |= {"resource": f"{LINK}/mcp", "scope": "agent", **change}
        return urlencode({name: value for name, value in said.items() if value})

    async def page(self, **change: str) -> httpx.Response:
        """What the person sees."""
        path = f"/oauth/authorize?{self.query(**change)}"
        return await self.browser.get(path, headers={"Accept": "text/html"})

    async def says(self, approve: bool = True, **change: str) -> httpx.Response:
        """What the person's click does."""
        headers = {"Styx-CSRF": self.csrf, "Origin": LINK}
        path = f"/oauth/authorize?{self.query(**change)}"
        body = {"approve": approve, "project": self.world.project}
        return await self.browser.post(path, json=body, headers=headers)

    async def code(self) -> str:
        """A code for a yes."""
        reply = await self.says()
        assert reply.status_code == 200, reply.text
        return parse_qs(urlsplit(reply.json()["location"]).query)["code"][0]

    async def token(self, **change: str) -> httpx.Response:
        """The token endpoint's answer."""
        said = {"grant_type": "authorization_code", "client_id": self.id, "redirect_uri": BACK}
        said |= {"code_verifier": VERIFIER, "resource": f"{LINK}/mcp", **change}
        form = {name: value for name, value in said.items() if value}
        return await self.world.client(LINK).post("/oauth/token", data=form)

    async def refresh(self, token: str, **change: str) -> httpx.Response:
        """The same for a refresh token."""
        return await self.token(
            **{"grant_type": "refresh_token", "refresh_token": token, "redirect_uri": ""} | change
        )

    async def tokens(self) -> dict[str, Any]:
        """From a yes to the first tokens."""
        reply = await self.token(code=await self.code())
        assert reply.status_code == 200, reply.text
        found: dict[str, Any] = reply.json()
        return found

    async def works_as(self, tokens: dict[str, Any]) -> TaskIdentity:
        """Whose call the gateway takes a call with this token for."""
        asked = IdentifyTask(token_sha256=fingerprint(tokens["access_token"]))
        return await self.world.bus.as_service("mcp-gateway").request(asked)


async def registered(world: World, **said: Any) -> httpx.Response:
    """The answer to a registration."""
    metadata = {"client_name": NAME, "redirect_uris": [BACK]} | said
    return await world.client(LINK).post("/oauth/register", json=metadata)


async def client(world: World, person: str = OWNER, **said: Any) -> Client:
    """A registered client, and a person's browser."""
    reply = await registered(world, **said)
    assert reply.status_code == 201, reply.text
    browser, csrf = await signed_in(world, person)
    return Client(world, reply.json()["client_id"], browser, csrf)
