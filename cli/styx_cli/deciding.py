"""How a person decides from a terminal: what they saw is what they sign."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from styx_core.signing import decision_payload, extend_payload

from styx_cli.approver import Approver


def decide(
    approver: Approver,
    grant: dict[str, Any],
    verdict: str,
    scopes: Sequence[str] = (),
    duration: str | None = None,
    reason: str | None = None,
) -> Any:
    """Sign and send one decision about a grant as it was shown. Raises `Failure`."""
    payload = decision_payload(
        grant_id=grant["id"],
        verdict=verdict,
        target=grant["target"],
        env=grant["env"],
        scopes=scopes or grant["scopes"],
        duration=duration or grant["duration"],
        command=grant["command"],
    )
    body = {
        "verdict": verdict,
        "scopes": list(scopes),
        "duration": duration,
        "reason": reason,
        "signature": approver.sign(payload),
    }
    return approver.client.call("POST", f"/v1/grants/{grant['id']}/decision", body)


def extend(approver: Approver, grant: dict[str, Any]) -> Any:
    """Sign and send the one extension of a live grant. Raises `Failure`."""
    until = datetime.fromisoformat(grant["expires_at"]).isoformat()
    signature = approver.sign(extend_payload(grant_id=grant["id"], until=until))
    path = f"/v1/grants/{grant['id']}/extend"
    return approver.client.call("POST", path, {"signature": signature})


def find_grant(grants: list[dict[str, Any]], named: str) -> dict[str, Any] | None:
    """The one grant with this id, or whose id ends so."""
    found = [g for g in grants if g["id"] == named or (len(named) > 3 and g["id"].endswith(named))]
    return found[0] if len(found) == 1 else None
