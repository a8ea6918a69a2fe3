"""Google's token services: who answers for what, and what each refusal means.

A token endpoint refuses a grant with HTTP 400 (RFC 6749, section 5.2), which is `LoginExpired`; so
is an IAM refusal to make a token. Tokens go in a body or a header, never in an address.
"""

import contextlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from styx_core.errors import Invalid, LoginExpired, ProviderFailed

from styx_adapters.adapter import Config
from styx_adapters.api import Answer, Api

WHO = "Google Cloud"
STS, IAM = "https://sts.googleapis.com", "https://iamcredentials.googleapis.com"
OAUTH, OPENID = "https://oauth2.googleapis.com", "https://openidconnect.googleapis.com"
ASSERTED_AT = f"{OAUTH}/token"
"""What an assertion names as its audience, wherever it is sent."""

IDENTITY_SCOPE = "https://www.googleapis.com/auth/iam"
"""What a source token needs to make others, and no more."""
EMAIL_SCOPE = "https://www.googleapis.com/auth/userinfo.email"

_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ASSERTION = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ACCESS = "urn:ietf:params:oauth:token-type:access_token"
_JWT = "urn:ietf:params:oauth:token-type:jwt"
TOKEN = re.compile(r"[\x21-\x7e]{8,8192}")


class GoogleTokens:
    """Calls to the token services of one target's place."""

    def __init__(self, api: Api, config: Config) -> None:
        self._api = api
        self._place = config.get("endpoint")

    async def federated(self, identity: str, audience: str) -> str:
        """A federated token for Styx's own (STS, "Method: token")."""
        form = {
            "grant_type": _EXCHANGE,
            "audience": audience,
            "scope": IDENTITY_SCOPE,
            "requested_token_type": _ACCESS,
            "subject_token_type": _JWT,
            "subject_token": identity,
        }
        refusal = "Google's workload identity provider refuses the identity of this Styx"
        return _token(await self._form(f"{STS}/v1/token", form, refusal), "access_token")

    async def asserted(self, assertion: str) -> str:
        """A service account's own token, for a JWT that its key signed (RFC 7523)."""
        form = {"grant_type": _ASSERTION, "assertion": assertion}
        refusal = "Google refuses this service account's key: deleted, disabled or of another one"
        return _token(await self._form(ASSERTED_AT, form, refusal), "access_token")

    async def generated(
        self, source: str, account: str, scope: str, seconds: int
    ) -> tuple[str, datetime]:
        """An access token of a service account, and its end ("generateAccessToken")."""
        path = f"/v1/projects/-/serviceAccounts/{account}:generateAccessToken"
        body = {"scope": [scope], "lifetime": f"{seconds}s"}
        refusal = (
            f"Google lets this target's identity make no token of {account}: it needs the role "
            f"iam.serviceAccountTokenCreator (or iam.workloadIdentityUser) on it"
        )
        wrong = dict.fromkeys((403, 404), refusal)
        said = await self._ask("POST", f"{IAM}{path}", token=source, body=body, wrong=wrong)
        return _token(said, "accessToken"), _time(said["expireTime"])

    async def downscoped(self, token: str, options: str) -> str:
        """The token behind a boundary; it ends when the whole one does."""
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": _ACCESS,
            "subject_token_type": _ACCESS,
            "subject_token": token,
            "options": options,
        }
        return _token(await self._ask("POST", f"{STS}/v1/token", form=form), "access_token")

    async def email(self, token: str) -> str:
        """Whose token it is (OpenID Connect, userinfo)."""
        return str((await self._ask("GET", f"{OPENID}/v1/userinfo", token=token))["email"])[:254]

    async def reachable(self) -> None:
        """Raises `ProviderFailed` while the token endpoint can't be reached."""
        form = {"grant_type": "refresh_token"}
        try:
            await self._form(ASSERTED_AT, form, "there is no grant in this")
        except LoginExpired:
            return

    async def _form(self, url: str, form: Mapping[str, str], refusal: str) -> Answer:
        return await self._ask("POST", url, form=form, wrong={400: refusal})

    async def _ask(self, method: str, url: str, **more: Any) -> Answer:
        if self._place is not None:
            url = self._place + re.sub(r"https://[^/]+", "", url, count=1)
        try:
            return Answer(WHO, await self._api.call(WHO, method, url, **more))
        except Invalid as refused:
            raise LoginExpired(refused.detail) from None


def _token(answer: Answer, name: str) -> str:
    token = answer[name]
    if not isinstance(token, str) or not TOKEN.fullmatch(token):
        raise ProviderFailed(f"{WHO} answered with an {name} of an unknown shape")
    return token


def _time(said: object) -> datetime:
    with contextlib.suppress(ValueError, OverflowError):
        found = datetime.fromisoformat(str(said))
        if found.tzinfo is not None:
            return found.astimezone(UTC)
    raise ProviderFailed(f"{WHO} made a token without an end that can be read")
