"""Single sign-on: OpenID Connect's code flow with PKCE, as a relying party (Core 1.0, RFC 9700).

What it proves is who looks. It signs nothing: decisions still take a passkey or a terminal's key,
so that neither the identity provider nor this broker can make one. Imported when somebody signs in
so, and not before: its libraries are slow to import.
"""

import hmac
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from styx_core.errors import ProviderFailed, Unauthenticated
from styx_core.settings import Settings

from styx_broker.oidc_attempt import ELSEWHERE, Attempt

SECONDS: Final = 5.0
LEEWAY: Final = 60
ALGORITHMS: Final = ["RS256", "PS256", "ES256", "Ed25519", "EdDSA"]
TAKEN_BACK: Final = "the identity provider took this sign-in back; try again"
REFUSED: Final = "the identity provider's answer is not one to trust; sign in again"


class RelyingParty:
    """This Styx at one identity provider. What the provider says of itself is read once."""

    def __init__(self, settings: Settings, back: str) -> None:
        self._settings, self._back = settings, back
        self._about: dict[str, Any] | None = None

    async def leave(self, attempt: Attempt) -> str:
        """Where the browser signs in. Raises `ProviderFailed`."""
        about = await self._discovered()
        async with self._client() as client:
            url, _ = client.create_authorization_url(
                about["authorization_endpoint"],
                state=attempt.state,
                nonce=attempt.nonce,
                code_verifier=attempt.verifier,
            )
        return str(url)

    async def arrive(self, attempt: Attempt, said: dict[str, str], now: int) -> str:
        """Whose browser came back. Raises `Unauthenticated` or `ProviderFailed`."""
        if not hmac.compare_digest(said.get("state", "").encode(), attempt.state.encode()):
            raise Unauthenticated(ELSEWHERE)
        if said.get("iss", self._settings.oidc_issuer) != self._settings.oidc_issuer:
            raise Unauthenticated(REFUSED)
        if "code" not in said:
            raise Unauthenticated("the identity provider did not sign you in; try again")
        about = await self._discovered()
        try:
            async with self._client() as client:
                tokens = await client.fetch_token(
                    about["token_endpoint"],
                    grant_type="authorization_code",
                    code=said["code"],
                    code_verifier=attempt.verifier,
                )
            keys = KeySet.import_key_set(await _read(about["jwks_uri"]))
            token = jwt.decode(str(tokens.get("id_token")), keys, ALGORITHMS)
            self._check(token.claims, attempt, now)
        except OAuthError:
            raise Unauthenticated(TAKEN_BACK) from None
        except (JoseError, KeyError) as error:
            raise Unauthenticated(f"{REFUSED} ({type(error).__name__})") from None
        except (httpx.HTTPError, ValueError) as error:
            why = type(error).__name__
            raise ProviderFailed(f"the identity provider did not answer ({why})") from None
        return self._person(token.claims)

    def _check(self, claims: dict[str, Any], attempt: Attempt, now: int) -> None:
        """Core 1.0, section 3.1.3.7. Raises `JoseError`."""
        client, issuer = self._settings.oidc_client_id, self._settings.oidc_issuer
        registry = jwt.JWTClaimsRegistry(
            now=now,
            leeway=LEEWAY,
            iss={"essential": True, "value": issuer},
            aud={"essential": True, "value": client},
            exp={"essential": True},
            iat={"essential": True},
            sub={"essential": True},
            nonce={"essential": True, "value": attempt.nonce},
        )
        registry.validate(claims)
        if claims.get("azp", client) != client:
            raise Unauthenticated(REFUSED)

    def _person(self, claims: dict[str, Any]) -> str:
        """The name by which this person is known here."""
        claim = self._settings.oidc_claim
        name = claims.get(claim)
        if not isinstance(name, str) or not name:
            raise Unauthenticated(f"the identity provider does not say who you are: no {claim}")
        if claim == "email" and claims.get("email_verified") is not True:
            raise Unauthenticated("the identity provider has not verified your address")
        return name

    async def _discovered(self) -> dict[str, Any]:
        """The provider's metadata (Discovery 1.0). Raises `ProviderFailed`."""
        if self._about is None:
            issuer = self._settings.oidc_issuer
            where = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
            try:
                about = await _read(where)
            except (httpx.HTTPError, ValueError) as error:
                why = type(error).__name__
                raise ProviderFailed(f"the identity provider does not answer ({why})") from None
            ends = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            if about.get("issuer") != issuer or not all(_safe(about.get(e)) for e in ends):
                raise ProviderFailed("the identity provider's metadata is of another issuer")
            self._about = about
        return self._about

    def _client(self) -> AsyncOAuth2Client:
        secret = self._settings.oidc_client_secret.get_secret_value()
        return AsyncOAuth2Client(
            self._settings.oidc_client_id,
            secret or None,
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
            scope="openid email profile",
            redirect_uri=self._back,
            code_challenge_method="S256",
            timeout=SECONDS,
            trust_env=False,
        )


async def _read(url: str) -> Any:
    """A JSON document of the provider's; with no token in hand, and no redirect followed."""
    async with httpx.AsyncClient(timeout=SECONDS, trust_env=False) as client:
        return (await client.get(url)).raise_for_status().json()


def _safe(url: object) -> bool:
    """Whether an endpoint is reached over TLS, or on this machine."""
    where = urlsplit(url) if isinstance(url, str) else urlsplit("")
    return where.scheme == "https" or where.hostname in ("127.0.0.1", "localhost", "::1")
