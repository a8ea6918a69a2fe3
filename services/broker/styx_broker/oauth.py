"""OAuth 2.1's rules for MCP clients: what one may say of itself, ask for, and show. Pure.

Public clients alone (draft-ietf-oauth-v2-1), which register themselves (RFC 7591), come back to
this machine or over TLS (RFC 8252), prove with S256 that a code is theirs (RFC 7636), and name the
resource that a token is for (RFC 8707). An answer says who gave it (RFC 9207).
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from styx_core.oauth_places import SCOPE, issuer, resource

MOST_FIELDS: Final = 40
LONGEST_STATE: Final = 1024
"""It may wait in a cookie while the person signs in, and cookies end at 4096."""
LONGEST_NAME: Final = 100
MOST_REDIRECTS: Final = 10
LONGEST_REDIRECT: Final = 2000
SHARED_SECRETS: Final = (None, "none", "client_secret_basic", "client_secret_post")
"""Ways to authenticate that a client may name: the answer to each is `none` (RFC 7591, 3.2.1)."""
APPS: Final = frozenset({"cursor://anysphere.cursor-mcp/oauth/callback"})
"""Ways back to an app by a scheme of its own (RFC 8252, section 7.1), each known and taken exactly:
Cursor names this one among others, and gives up if any of them is refused. Another app that claims
the scheme gets a code that it can't use, for want of the verifier."""
_LOOPBACK: Final = re.compile(
    r"(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?(?=[/?]|$)"
)
_TLS: Final = re.compile(r"https://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?=[/?]|$)")
_URI: Final = re.compile(r"[A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=%]+")
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")


class Refused(Exception):
    """What a client asked can't be: `error` as its RFC names it, `detail` for who builds it."""

    def __init__(self, error: str, detail: str, status: int = 400) -> None:
        super().__init__(detail)
        self.error, self.detail, self.status = error, detail, status


@dataclass(frozen=True)
class Registration:
    """What is kept of a client's metadata; the name is the client's own words."""

    name: str
    redirect_uris: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """An authorization request whose client and way back are known to be right."""

    client_id: str
    client: str
    """The client's own words."""
    redirect_uri: str
    state: str | None
    said: Mapping[str, str]

    def answer(self, public_url: str, **said: str) -> str:
        """The way back, with what is said there."""
        state = {} if self.state is None else {"state": self.state}
        joint = "&" if "?" in self.redirect_uri else "?"
        query = urlencode({**said, **state, "iss": issuer(public_url)})
        return f"{self.redirect_uri}{joint}{query}"


def once(text: str) -> dict[str, str]:
    """Form fields, each named once (RFC 6749, section 3.1). Raises `Refused`."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise Refused("invalid_request", f"more than {MOST_FIELDS} parameters") from None
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused("invalid_request", "a parameter is named twice")
    if any("\0" in value for value in found.values()):
        raise Refused("invalid_request", "a parameter holds a NUL")
    return {name: value for name, value in found.items() if value}


def needed(said: Mapping[str, str], name: str) -> str:
    """A parameter that must be there. Raises `Refused`."""
    if name not in said:
        raise Refused("invalid_request", f"{name} is missing")
    return said[name]


def registration(said: Any) -> Registration:
    """What a client says of itself, checked. Raises `Refused` that names the part."""
    if not isinstance(said, dict):
        raise _bad("the metadata is not a JSON object")
    name = said.get("client_name") or "a client without a name"
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _kept(name):
        raise _bad(f"client_name: not a text of at most {LONGEST_NAME} letters")
    if said.get("token_endpoint_auth_method") not in SHARED_SECRETS:
        raise _bad("token_endpoint_auth_method: clients are public here; say none")
    _among(said, "grant_types", "authorization_code")
    _among(said, "response_types", "code")
    uris = said.get("redirect_uris")
    if not isinstance(uris, list) or not 1 <= len(uris) <= MOST_REDIRECTS:
        raise Refused("invalid_redirect_uri", f"redirect_uris: name 1 to {MOST_REDIRECTS}")
    return Registration(name, tuple(way_back(uri) for uri in uris))


def _bad(detail: str) -> Refused:
    return Refused("invalid_client_metadata", detail)


def _kept(text: str) -> bool:
    """Whether a database keeps it: no NUL, no half of a surrogate pair."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def _among(said: Mapping[str, Any], name: str, wanted: str) -> None:
    given = said.get(name)
    if given is not None and (not isinstance(given, list) or wanted not in given):
        raise _bad(f"{name}: must hold {wanted}")


def way_back(uri: Any) -> str:
    """A redirect URI that may be one: this machine's, over TLS, or an app's. Raises `Refused`."""
    told = "redirect_uris: not http on 127.0.0.1, [::1] or localhost, nor https without a fragment"
    if isinstance(uri, str) and uri in APPS:
        return uri
    if not isinstance(uri, str) or len(uri) > LONGEST_REDIRECT or not _URI.fullmatch(uri):
        raise Refused("invalid_redirect_uri", told)
    if not (_LOOPBACK.match(uri) or _TLS.match(uri)):
        raise Refused("invalid_redirect_uri", told)
    if {name for name, _ in parse_qsl(uri.partition("?")[2])} & {"code", "state", "iss", "error"}:
        raise Refused("invalid_redirect_uri", "redirect_uris: its query holds a name of an answer")
    return uri


def fits(uri: str, registered: str) -> bool:
    """Whether a way back is the registered one; on loopback at any port (RFC 8252, 7.3)."""
    return _portless(uri) == _portless(registered)


def _portless(uri: str) -> str:
    return _LOOPBACK.sub(r"\1", uri, count=1)


def place_of(uri: str) -> str | None:
    """The host that a way back leads to; None for a program on the person's own machine."""
    here = uri in APPS or _LOOPBACK.match(uri)
    return None if here else urlsplit(uri).netloc


def challenge_of(said: Mapping[str, str], public_url: str) -> str:
    """The code challenge of a request that may go on. Raises `Refused`."""
    if needed(said, "response_type") != "code":
        raise Refused("unsupported_response_type", "response_type: only code is known here")
    if said.get("response_mode", "query") != "query":
        raise Refused("invalid_request", "response_mode: only query is known here")
    if said.get("code_challenge_method") != "S256":
        raise Refused("invalid_request", "code_challenge_method: PKCE with S256 is needed")
    challenge = needed(said, "code_challenge")
    if not _CHALLENGE.fullmatch(challenge):
        raise Refused("invalid_request", "code_challenge: not a SHA-256 in base64url")
    check_scope(said)
    check_resource(said, public_url)
    return challenge


def check_scope(said: Mapping[str, str]) -> None:
    """Others may be asked for as well, and are not given. Raises `Refused`."""
    if SCOPE not in said.get("scope", SCOPE).split():
        raise Refused("invalid_scope", f"scope: {SCOPE} is the one to ask for")


def check_resource(said: Mapping[str, str], public_url: str) -> None:
    """A token is for our one resource, named or not. Raises `Refused` for another."""
    ours = resource(public_url)
    if said.get("resource", ours) != ours:
        raise Refused("invalid_target", f"resource: tokens are for {ours} alone")


def proves(verifier: str, challenge: str) -> bool:
    """Whether who shows the verifier is who sent the challenge (RFC 7636, section 4.6)."""
    if not _VERIFIER.fullmatch(verifier):
        return False
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(made, challenge.encode())


def agent_name(name: str) -> str:
    """A client's words as an agent's name (`contract.values.Name`)."""
    words = re.sub(r"[^A-Za-z0-9._@+-]+", "-", name).strip("._@+-")[:64]
    return words or "client"


def server_metadata(public_url: str) -> dict[str, Any]:
    """What the authorization server says of itself (RFC 8414, section 2)."""
    here = issuer(public_url)
    return {
        "issuer": here,
        "authorization_endpoint": f"{here}/oauth/authorize",
        "token_endpoint": f"{here}/oauth/token",
        "registration_endpoint": f"{here}/oauth/register",
        "revocation_endpoint": f"{here}/oauth/revoke",
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def resource_metadata(public_url: str) -> dict[str, Any]:
    """What the protected resource says of itself (RFC 9728, section 2)."""
    return {
        "resource": resource(public_url),
        "resource_name": "Styx",
        "authorization_servers": [issuer(public_url)],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
    }
