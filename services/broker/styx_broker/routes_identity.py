"""What clouds and hosts that trust Styx read of it, without signing in. Public.

For clouds that federate: where the key of Styx's own identity tokens is to be found, and no more of
a discovery document than they read (OpenID Connect Discovery 1.0, section 3). The key itself stays
in Vault; this is its public half, from the catalog. For SSH hosts: the list of certificates that
have ended before their time.
"""

import json
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response
from styx_core.contract.grants import ListRevokedCertificates
from styx_core.errors import Unavailable
from styx_core.krl import revocation_list

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


@router.get("/ssh/krl")
async def revoked(deps: TheDeps) -> Response:
    """OpenSSH's key revocation list, for sshd's `RevokedKeys`."""
    deps.limits.take("anyone", "public", "too many readers of the revocation list")
    ca = deps.catalog.public.get("ssh_ca")
    if ca is None:
        raise Unavailable("adapters have not published their CA yet; try again in a moment")
    ended = await deps.bus.request(ListRevokedCertificates())
    content = revocation_list(ca, ended.key_ids, int(deps.now().timestamp()))
    return Response(content, media_type="application/octet-stream")
