"""Providers' HTTP APIs: one client, bounded in time and size, with one meaning for each failure.

A refusal of our credential (401, 403) is `LoginExpired`; whatever may pass is `ProviderFailed`.
No error quotes a body or a header: either could echo a token. Neither proxies, netrc nor
certificates of whoever started us are used, and no redirect is followed with a credential in hand.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from styx_core.errors import Invalid, LoginExpired, ProviderFailed

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 4.0
MOST_BYTES = 4_000_000

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?"
URL = (
    rf"https?://(?:{_NAME}|\[[0-9a-fA-F:]{{2,39}}\])(:[0-9]{{1,5}})?(/[A-Za-z0-9_-]{{1,64}}){{0,4}}"
)
"""The pattern of an API's address in a declaration: no user, query or fragment."""


class Api:
    """Calls to providers. Made in the event loop that uses it; end it with `close`."""

    def __init__(self, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._seconds = answer_seconds
        self._client: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Drop the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def call(
        self,
        who: str,
        method: str,
        url: str,
        *,
        token: str = "",
        body: Mapping[str, Any] | None = None,
        form: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        wrong: Mapping[int, str] | None = None,
    ) -> Any:
        """The answer's JSON, or None for an empty one.

        `who` names the provider in errors. `token` goes as a bearer. `wrong` says for a status
        what a person must correct. Raises `LoginExpired`, `ProviderFailed`, `Invalid`.
        """
        sent = {"accept": "application/json", **(headers or {})}
        if token:
            sent["authorization"] = f"Bearer {token}"
        status, content = await self._exchange(who, method, url, sent, body, form)
        if wrong is not None and status in wrong:
            raise Invalid(wrong[status])
        if status in (401, 403):
            raise LoginExpired(f"{who} refuses this target's credential (HTTP {status})")
        if not 200 <= status < 300:
            raise ProviderFailed(f"{who} answered with HTTP {status}")
        return _read(who, content)

    async def _exchange(
        self,
        who: str,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
        form: Mapping[str, str] | None,
    ) -> tuple[int, bytes]:
        import httpx  # slow to import: only a provider's call needs it

        client = self._opened()
        try:
            async with client.stream(method, url, headers=headers, json=body, data=form) as answer:
                return answer.status_code, await _bounded(who, answer)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ProviderFailed(f"{who} did not answer ({type(error).__name__})") from None

    def _opened(self) -> "httpx.AsyncClient":
        import httpx

        if self._client is None:
            self._client = httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                timeout=httpx.Timeout(self._seconds, connect=CONNECT_SECONDS),
            )
        return self._client


async def _bounded(who: str, answer: "httpx.Response") -> bytes:
    content = bytearray()
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > MOST_BYTES:
            raise ProviderFailed(f"{who} answered with more than {MOST_BYTES:,} bytes")
    return bytes(content)


def _read(who: str, content: bytes) -> Any:
    if not content.strip():
        return None
    try:
        return json.loads(content)
    except ValueError:
        raise ProviderFailed(f"{who} answered with something that is not JSON") from None


class Answer(dict[str, Any]):
    """A provider's answer; a part that should be there and isn't is the provider's failure."""

    def __init__(self, who: str, said: Any) -> None:
        if not isinstance(said, dict):
            raise ProviderFailed(f"{who} answered in a shape that its documentation lacks")
        super().__init__(said)
        self._who = who

    def __missing__(self, key: str) -> Any:
        raise ProviderFailed(f"{self._who} answered without {key}, so nothing was issued")
