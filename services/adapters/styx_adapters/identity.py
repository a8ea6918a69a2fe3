"""Styx's own identity at clouds that trust it (OpenID Connect Core 1.0, Discovery 1.0).

A cloud that federates with Styx takes a short-lived token about one target in the place of a
stored key; the key that signs it never leaves Vault, and nothing standing is kept anywhere.
"""

import secrets
from datetime import timedelta

from styx_core import vault_rsa
from styx_core.errors import Invalid

from styx_adapters.adapter import Deps

KEY = f"{vault_rsa.PREFIX}oidc"
LIFE = timedelta(minutes=5)


def subject(target_id: str) -> str:
    """What the token says it is about: a cloud's trust policy names one target."""
    return f"target:{target_id}"


async def identity_token(deps: Deps, target_id: str, audience: str) -> str:
    """A token that says: Styx acts for this target, at this audience. Raises `VaultError`."""
    if not deps.issuer.startswith("https://"):
        raise Invalid("method: federation needs STYX_PUBLIC_URL to be an https address")
    key = await vault_rsa.public_jwk(deps.vault, KEY)
    now = int(deps.now().timestamp())
    claims = {
        "iss": deps.issuer,
        "sub": subject(target_id),
        "aud": audience,
        "iat": now,
        "nbf": now - 30,
        "exp": now + int(LIFE.total_seconds()),
        "jti": secrets.token_urlsafe(16),
    }
    return await vault_rsa.sign_jwt(deps.vault, KEY, claims, key["kid"])
