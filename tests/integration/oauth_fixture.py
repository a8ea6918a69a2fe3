"""A program on loopback that takes OAuth's answer, and the SDK's own OAuth client."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
from mcp import ClientSession
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from stack_fixture import Living

Open = Callable[[str], Awaitable[None]]


@dataclass
class Listening:
    """Where a browser comes back to; `frame` is what the page `/frame` shows in a frame."""

    port: int
    came: "asyncio.Queue[dict[str, str]]" = field(default_factory=asyncio.Queue)
    frame: str = ""

    @property
    def url(self) -> str:
        """The redirect URI."""
        return f"http://127.0.0.1:{self.port}/callback"

    def page(self, path: str) -> str:
        """What is answered."""
        if urlsplit(path).path == "/callback":
            query = parse_qs(urlsplit(path).query)
            self.came.put_nowait({name: values[0] for name, values in query.items()})
            return "You can close this page."
        return f'<iframe src="{self.frame}"></iframe>' if path == "/frame" else ""


@asynccontextmanager
async def listening() -> AsyncIterator[Listening]:
    """A small web server, as a native client runs one while its person signs in."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode()
        while (await reader.readline()).strip():
            pass
        words = line.split()
        body = here.page(words[1]).encode() if len(words) > 1 else b""
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    here = Listening(server.sockets[0].getsockname()[1])
    try:
        yield here
    finally:
        server.close()


VERIFIER = "FIXTURE-verifier-" + "v" * 40
S256 = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()


async def let_in(here: Living) -> dict[str, Any]:
    """A client that the owner lets into their project, without a browser: its first tokens."""
    back = "http://127.0.0.1/callback"
    async with httpx.AsyncClient(base_url=here.stack.url, timeout=30) as http:
        about = {"client_name": "Let in", "redirect_uris": [back]}
        client_id = (await http.post("/oauth/register", json=about)).json()["client_id"]
        said = {"client_id": client_id, "redirect_uri": back, "response_type": "code"}
        said |= {"code_challenge": S256, "code_challenge_method": "S256"}
        yes = {"approve": True, "project": here.place.project["id"]}
        answer = await here.ask("POST", "/oauth/authorize", yes, **said)
        code = parse_qs(urlsplit(answer["location"]).query)["code"][0]
        form = {"grant_type": "authorization_code", "client_id": client_id, "code": code}
        form |= {"redirect_uri": back, "code_verifier": VERIFIER}
        reply = await http.post("/oauth/token", data=form)
    assert reply.status_code == 200, reply.text
    return {**reply.json(), "client_id": client_id}


@dataclass
class Keeping(TokenStorage):
    """What the SDK's client keeps between its runs."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def provider(url: str, back: Listening, kept: Keeping, open_page: Open) -> OAuthClientProvider:
    """The SDK's OAuth client; `open_page` is given the page that the person should see."""

    async def answered() -> AuthorizationCodeResult:
        async with asyncio.timeout(30):
            said = await back.came.get()
        return AuthorizationCodeResult(**{n: said[n] for n in ("code", "state", "iss")})

    uris: Any = [back.url]
    about = OAuthClientMetadata(client_name="The SDK's client", redirect_uris=uris)
    return OAuthClientProvider(url, about, kept, open_page, answered)


async def call(url: str, auth: OAuthClientProvider, tool: str, **said: Any) -> dict[str, Any]:
    """One tool of the gateway, in a session of its own."""
    async with (
        create_mcp_http_client(auth=auth) as http,
        streamable_http_client(url, http_client=http) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        answer = await session.call_tool(tool, said)
    assert not answer.is_error, answer.content
    return dict(answer.structured_content or {})
