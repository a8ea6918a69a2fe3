"""Strict transport security (RFC 6797), where people reach this Styx over TLS.

On one's own machine it is plain HTTP on loopback, and a browser that was told otherwise would never
reach it again.
"""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from styx_broker.deps import Deps

HEADER: Final = (b"strict-transport-security", b"max-age=63072000; includeSubDomains")


class SecureTransport:
    """Adds the header to every answer."""

    def __init__(self, app: ASGIApp, deps: Deps) -> None:
        self._app, self._deps = app, deps

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http" or not self._deps.settings.public_url.startswith("https://"):
            return await self._app(scope, receive, send)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], HEADER]
            await send(message)

        return await self._app(scope, receive, sending)
