"""Styx's own identity, for clouds that trust it: where its tokens' key is to be found. Public.

OpenID Connect Discovery 1.0, section 3: only what a cloud that federates reads. The key itself
stays in Vault; this is its public half, from the catalog.
"""

import json
from typing import Any

from fastapi import APIRouter
from styx_core.errors import Unavailable

from styx_broker.auth import TheDeps

router = APIRouter(tags=["identity"])

KEYS = "/.well-known/jwks.json"


@router.get("/.well-known/openid-configuration")
async def configuration(deps: TheDeps) -> dict[str, Any]:
    """What an issuer says of itself."""
    issuer = deps.settings.public_url
    return {
        "issuer": issuer,
        "jwks_uri": f"{issuer}{KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"],
        "claims_supported": ["iss", "sub", "aud", "iat", "nbf", "exp", "jti"],
    }


@router.get(KEYS)
async def keys(deps: TheDeps) -> dict[str, Any]:
    """The keys that sign, as a JWK Set (RFC 7517)."""
    jwk = deps.catalog.public.get("jwk")
    if jwk is None:
        raise Unavailable("adapters have not published their key yet; try again in a moment")
    return {"keys": [json.loads(jwk)]}
