"""Plays GitHub's REST API as far as Apps, their tokens, people's tokens and repositories go.

Read from GitHub's docs: "Generating a JSON Web Token (JWT) for a GitHub App" (RS256; `iat` in the
past, `exp` at most ten minutes ahead), GitHub REST "Get an installation for the authenticated app",
"Create an installation access token for an app" (no permissions means all; 422 for a permission or
repository that the installation lacks; one hour), "Revoke an installation access token", "Get the
authenticated user" (403 for an installation), "Permissions required for GitHub Apps" (which
permission a call needs: `read` for GET, else `write`), "Troubleshooting the REST API" (404 for a
repository that a token can't see, 403 with `Resource not accessible by integration`). Stricter than
the real one in that it takes no parameter that isn't documented.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from styx_adapters.playing import Played

OWNER = "acme"
ALL = {
    "metadata": "read",
    **dict.fromkeys(
        ("actions", "administration", "checks", "contents", "deployments", "discussions", "issues",
         "members", "pull_requests", "secrets", "statuses", "workflows"), "write",
    ),
}  # fmt: skip
NEEDS = {
    (): ("metadata", "administration"),
    ("actions",): ("actions",) * 2,
    ("actions", "secrets"): ("secrets",) * 2,
    ("contents",): ("contents",) * 2,
    ("deployments",): ("deployments",) * 2,
    ("forks",): ("contents", "administration"),
    ("git",): ("contents",) * 2,
    ("issues",): ("issues",) * 2,
    ("labels",): ("issues",) * 2,
    ("pulls",): ("pull_requests",) * 2,
    ("releases",): ("contents",) * 2,
    ("statuses",): ("statuses",) * 2,
}
"""What a call below a repository needs: to read it, and to change it."""

Said = tuple[int, Any]


def _error(status: int, message: str) -> Said:
    return status, {"message": message, "documentation_url": "https://docs.github.com/rest"}


BAD = _error(401, "Bad credentials")
BAD_JWT = _error(401, "A JSON web token could not be decoded")
NOT_FOUND = _error(404, "Not Found")
NOT_ACCESSIBLE = _error(403, "Resource not accessible by integration")


@dataclass
class Installation:
    """An App at an account."""

    app_id: str
    permissions: dict[str, str] = field(default_factory=lambda: dict(ALL))
    suspended_at: str | None = None


@dataclass(frozen=True)
class Token:
    """What a token may do, and until when. `user` is whose it is, if it isn't an App's."""

    permissions: dict[str, str]
    repositories: frozenset[str]
    ends: datetime | None = None
    user: str | None = None


@dataclass
class GithubServer:
    """One account with repositories, Apps that are installed on it, and people's tokens."""

    now: Callable[[], datetime]
    apps: dict[str, RSAPublicKey] = field(default_factory=dict)
    installations: dict[str, Installation] = field(default_factory=dict)
    tokens: dict[str, Token] = field(default_factory=dict)
    repositories: set[str] = field(default_factory=lambda: {"web", "api", "docs"})
    made: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    instead: dict[str, Said] = field(default_factory=dict)
    """Answers in the place of the documented ones, by method and path."""

    def person(self, name: str, login: str, prefix: str = "github_pat_") -> str:
        """A person's token, good for every repository."""
        text = f"{prefix}FIXTURE{name}{'0' * 30}"
        self.tokens[text] = Token(ALL, frozenset(self.repositories), user=login)
        return text

    def answer(self, call: Played) -> Said:
        """What GitHub says to one call."""
        path = call.path.removeprefix("/api/v3")
        self.calls.append(f"{call.method} {path}")
        if (said := self.instead.get(f"{call.method} {path}")) is not None:
            return said
        match path.strip("/").split("/"):
            case ["app", "installations", installation]:
                return self._installation(call, installation)
            case ["app", "installations", installation, "access_tokens"]:
                return self._mint(call, installation)
        token = self.tokens.get(call.bearer)
        if token is None or (token.ends is not None and token.ends <= self.now()):
            return BAD
        return self._with(call, token, path.strip("/").split("/"))

    def _with(self, call: Played, token: Token, path: list[str]) -> Said:
        match path:
            case ["installation", "token"] if call.method == "DELETE" and token.user is None:
                del self.tokens[call.bearer]
                return 204, None
            case ["user"]:
                return (200, {"login": token.user, "id": 1}) if token.user else NOT_ACCESSIBLE
            case ["repos", owner, name, *rest] if owner == OWNER and name in token.repositories:
                return self._repository(call, token, name, rest)
        return NOT_FOUND

    def _app(self, call: Played) -> str | None:
        """The App that a JWT proves, if it does."""
        try:
            head, body, signature = (_plain(part) for part in call.bearer.split("."))
            claims = json.loads(body)
            if json.loads(head)["alg"] != "RS256" or set(claims) != {"iss", "iat", "exp"}:
                return None
            signed = call.bearer.rpartition(".")[0].encode()
            self.apps[claims["iss"]].verify(signature, signed, PKCS1v15(), SHA256())
        except (ValueError, KeyError, InvalidSignature):
            return None
        now = self.now().timestamp()
        fresh = claims["iat"] <= now < claims["exp"] <= now + 600
        return str(claims["iss"]) if fresh else None

    def _installation(self, call: Played, number: str) -> Said:
        app, found = self._app(call), self.installations.get(number)
        if app is None:
            return BAD_JWT
        if found is None or found.app_id != app:
            return NOT_FOUND
        account = {"login": OWNER, "id": 7, "type": "Organization"}
        about = {"id": int(number), "account": account, "app_slug": "styx-fixture"}
        return 200, {**about, "permissions": found.permissions, "suspended_at": found.suspended_at}

    def _mint(self, call: Played, number: str) -> Said:
        status, said = self._installation(call, number)
        if status != 200:
            return status, said
        if said["suspended_at"]:
            return _error(403, "This installation has been suspended")
        body = call.json() or {}
        has, wanted = said["permissions"], body.get("permissions") or said["permissions"]
        named = frozenset(body.get("repositories") or self.repositories)
        levels = ("read", "write")
        if set(body) - {"permissions", "repositories"} or any(
            name not in has or levels.index(level) > levels.index(has[name])
            for name, level in wanted.items()
        ):
            return _error(422, "The permissions requested are not granted to this installation.")
        if not named <= self.repositories:
            return _error(422, "There is at least one repository that does not exist")
        return self._minted(wanted, named)

    def _minted(self, permissions: dict[str, str], repositories: frozenset[str]) -> Said:
        text = f"ghs_FIXTURE{len(self.made):029d}"
        ends = (self.now() + timedelta(hours=1)).replace(microsecond=0)
        self.tokens[text] = Token(permissions, repositories, ends)
        self.made.append(text)
        shown = f"{ends:%Y-%m-%dT%H:%M:%SZ}"
        return 201, {"token": text, "expires_at": shown, "permissions": permissions}

    def _repository(self, call: Played, token: Token, name: str, rest: list[str]) -> Said:
        read, change = NEEDS.get(tuple(rest[:2])) or NEEDS.get(tuple(rest[:1])) or ("none", "none")
        needed, level = (read, "read") if call.method == "GET" else (change, "write")
        if token.permissions.get(needed) not in (level, "write"):
            return NOT_ACCESSIBLE
        match call.method, rest:
            case "DELETE", []:
                self.repositories.discard(name)
                return 204, None
            case "DELETE", _:
                return 204, None
            case "GET", ["actions", "workflows"]:
                flow = {"id": 1, "name": "Release", "state": "active", "path": "release.yml"}
                return 200, {"total_count": 1, "workflows": [flow]}
            case "GET", ["labels"] | ["issues"] | ["pulls"] | ["releases"] | ["deployments"]:
                return 200, []
        made = {"id": 1, "name": (call.json() or {}).get("name", name) if call.body else name}
        return 200 if call.method in ("GET", "PATCH") else 201, made


def _plain(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
