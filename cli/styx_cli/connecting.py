"""Connecting a target: its secret is sealed here, to the adapters' key, before it goes anywhere."""

from collections.abc import Mapping
from typing import Any

from styx_core.ids import new_id, new_nonce
from styx_core.seal import connect_info, seal
from styx_core.signing import target_payload

from styx_cli.approver import Approver
from styx_cli.exits import Exit
from styx_cli.failure import Failure


def connect(
    approver: Approver,
    project: Mapping[str, Any],
    *,
    name: str,
    provider: str,
    env: str,
    method: str,
    config: Mapping[str, str],
    secret: Mapping[str, str],
    target_id: str | None = None,
) -> Any:
    """Connect a target; the adapter verifies it with its provider first. Raises `Failure`."""
    target_id = target_id or new_id("tgt")
    box = None
    if secret:
        box = sealed(secret, approver, target_id)
    about = {"name": name, "provider": provider, "env": env, "nonce": new_nonce()}
    payload = target_payload(project_id=project["id"], target_id=target_id, **about)
    body = {
        "id": target_id,
        "project": project["id"],
        **about,
        "method": method,
        "config": dict(config),
        "box": box,
        "signature": approver.sign(payload),
    }
    return approver.client.call("POST", "/v1/targets", body)


def sealed(secret: Mapping[str, str], approver: Approver, made_id: str) -> str:
    """A secret for `adapters` alone, bound to what it is for. Raises `Failure`."""
    key = approver.client.call("GET", "/v1/catalog")["sealing_key"]
    try:
        return seal(secret, key, connect_info(made_id))
    except ValueError:
        raise Failure(
            "Styx has no key to seal the secret to, so it was sent nowhere. Its adapters may be "
            "just starting: look with `styx status`, then try again.",
            Exit.UNAVAILABLE,
        ) from None
