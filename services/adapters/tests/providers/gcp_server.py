"""Plays the parts of Google Cloud that hand out tokens, and what those tokens then open.

Read from: Security Token Service API, "Method: token" (RFC 8693: an external token for a federated
one; an access token and `options` for a downscoped one); Google Identity, "Using OAuth 2.0 for
Server to Server Applications" (RFC 7523); IAM Service Account Credentials API, "Method:
serviceAccounts.generateAccessToken" (`scope`, `lifetime` of an hour at most); OpenID Connect,
userinfo. What tokens open is in `gcp_services`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import jwt
from gcp_services import AUTH, NO_RIGHT, Said, Services, Token, error
from styx_adapters.playing import Played

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS = "urn:ietf:params:oauth:token-type:access_token"
BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASKED = {"grant_type", "audience", "scope", "requested_token_type", "subject_token_type",
         "subject_token", "options"}  # fmt: skip


@dataclass(frozen=True)
class Trust:
    """What a workload identity provider admits: tokens of this key, issuer and audience."""

    jwk: Mapping[str, str]
    iss: str
    aud: str


def refused(code: str) -> Said:
    """How a token endpoint says no (RFC 6749, section 5.2)."""
    return 400, {"error": code, "error_description": "FIXTURE: what was sent is never quoted"}


@dataclass
class GoogleCloud:
    """One project, its service accounts and who may act as each of them."""

    now: Callable[[], datetime]
    trust: Trust | None = None
    keys: dict[str, str] = field(default_factory=dict)
    """The public key, in PEM, of each service account's stored key."""
    creators: dict[str, set[str]] = field(default_factory=dict)
    """Who may make tokens of each service account (roles/iam.serviceAccountTokenCreator)."""
    logins: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    """Whose each refresh token of a person's login is, and what it consented to."""
    tokens: dict[str, Token] = field(default_factory=dict)
    services: Services = field(default_factory=Services)
    seen: Callable[[Played], None] = lambda _: None
    asked: list[dict[str, Any]] = field(default_factory=list)
    """What generateAccessToken was asked for."""

    def made(
        self, who: str, *scopes: str, life: timedelta = timedelta(hours=1), **more: Any
    ) -> str:
        """A new access token."""
        token = f"ya29.FIXTURE{len(self.tokens):04d}{'x' * 40}"
        scope = frozenset(each.removeprefix(AUTH) for each in scopes)
        self.tokens[token] = Token(who, scope, self.now() + life)
        return token

    def answer(self, call: Played) -> Said:
        """What Google says to one call."""
        self.seen(call)
        if (call.method, call.path) == ("POST", "/v1/token"):
            return self._exchanged(call.form())
        if (call.method, call.path) == ("POST", "/token"):
            return self._asserted(call.form())
        token = self.tokens.get(call.bearer)
        if token is None or token.ends <= self.now():
            return error(401, "UNAUTHENTICATED", "Request had invalid authentication credentials.")
        if call.path == "/v1/userinfo":
            openid = "userinfo.email" in token.scopes
            return (200, {"sub": "1", "email": token.who}) if openid else error(401, "", "no scope")
        name, _, verb = unquote(call.path).rpartition(":")
        if verb == "generateAccessToken":
            return self._generated(token, name.rpartition("/")[2], call.json())
        return self.services.answer(call, token)

    def _exchanged(self, form: dict[str, str]) -> Said:
        if form.get("grant_type") != EXCHANGE or set(form) - ASKED:
            return refused("invalid_request")
        if form.get("requested_token_type") != ACCESS:
            return refused("invalid_request")
        if form["subject_token_type"] == ACCESS:
            return self._downscoped(form)
        return self._federated(form)

    def _federated(self, form: dict[str, str]) -> Said:
        if self.trust is None or form.get("audience") != self.trust.aud:
            return refused("invalid_target")
        try:
            claims = jwt.decode(
                form["subject_token"], jwt.PyJWK(dict(self.trust.jwk)), ["RS256"],
                audience=self.trust.aud, issuer=self.trust.iss,
            )  # fmt: skip
        except jwt.PyJWTError:
            return refused("invalid_grant")
        return self._answered(self.made(f"principal:{claims['sub']}", *form["scope"].split()), 3600)

    def _downscoped(self, form: dict[str, str]) -> Said:
        whole = self.tokens.get(form["subject_token"])
        if whole is None or whole.ends <= self.now() or "cloud-platform" not in whole.scopes:
            return refused("invalid_grant")
        try:
            rules = json.loads(form["options"])["accessBoundary"]["accessBoundaryRules"]
            self.services.check(rules)
        except (KeyError, TypeError, ValueError):
            return refused("invalid_request")
        made = self.made(whole.who)
        self.tokens[made] = replace(whole, boundary=tuple(rules))
        return self._answered(made, None)

    def _asserted(self, form: dict[str, str]) -> Said:
        if form.get("grant_type") == "refresh_token":
            if form.get("refresh_token") not in self.logins:
                return refused("invalid_grant")
            who, scopes = self.logins[form["refresh_token"]]
            return self._answered(self.made(who, *scopes), 3599)
        if set(form) != {"grant_type", "assertion"} or form["grant_type"] != BEARER:
            return refused("invalid_request")
        try:
            who = jwt.decode(form["assertion"], options={"verify_signature": False})["iss"]
            claims = jwt.decode(
                form["assertion"], self.keys[who], ["RS256"],
                audience="https://oauth2.googleapis.com/token",
            )  # fmt: skip
        except (jwt.PyJWTError, KeyError):
            return refused("invalid_grant")
        if claims["exp"] - claims["iat"] > 3600:
            return refused("invalid_grant")
        return self._answered(self.made(who, *claims["scope"].split()), 3599)

    def _answered(self, token: str, seconds: int | None) -> Said:
        said = {"access_token": token, "issued_token_type": ACCESS, "token_type": "Bearer"}
        return 200, said | ({} if seconds is None else {"expires_in": seconds})

    def _generated(self, token: Token, account: str, body: dict[str, Any]) -> Said:
        self.asked.append({**body, "account": account})
        if not token.scopes & {"iam", "cloud-platform"} or token.boundary is not None:
            return error(
                403, "PERMISSION_DENIED", "Request had insufficient authentication scopes."
            )
        if token.who not in self.creators.get(account, ()):
            return NO_RIGHT
        seconds = body.get("lifetime", "3600s").removesuffix("s")
        if set(body) - {"scope", "lifetime", "delegates"} or not body.get("scope"):
            return error(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        if not seconds.isdecimal() or not 0 < int(seconds) <= 3600:
            return error(400, "INVALID_ARGUMENT", "The lifetime is out of range.")
        made = self.made(account, *body["scope"], life=timedelta(seconds=int(seconds)))
        ends = self.tokens[made].ends.astimezone(UTC)
        return 200, {"accessToken": made, "expireTime": f"{ends:%Y-%m-%dT%H:%M:%SZ}"}
