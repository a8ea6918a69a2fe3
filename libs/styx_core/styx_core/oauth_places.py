"""Where OAuth's parts are found, derived from the one public address. Pure.

`broker` is the authorization server and speaks for the resource, `mcp-gateway` points to it. Each
string is the same byte for byte wherever it is said (RFC 8414, section 3.3; RFC 9728, section 3.3).
"""

from typing import Final

SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
"""RFC 8414, section 3: for an issuer without a path."""
RESOURCE_METADATA: Final = "/.well-known/oauth-protected-resource/mcp"
"""RFC 9728, section 3.1: the resource's own path comes last."""
SCOPE: Final = "agent"
"""The one thing that a client can be let in for: to work as an agent of a person's."""


def issuer(public_url: str) -> str:
    """The authorization server's name: the public address, with no slash at its end."""
    return public_url.rstrip("/")


def resource(public_url: str) -> str:
    """The protected resource's name, which is its address."""
    return f"{issuer(public_url)}/mcp"


def challenge(public_url: str, *, shown: bool) -> str:
    """What a refused call is told (RFC 9728, section 5.1); `shown`: it came with some token.

    A call without one gets no error code (RFC 6750, section 3.1).
    """
    parts = ['realm="styx"', f'resource_metadata="{issuer(public_url)}{RESOURCE_METADATA}"']
    parts += [f'scope="{SCOPE}"', *(('error="invalid_token"',) if shown else ())]
    return f"Bearer {', '.join(parts)}"
