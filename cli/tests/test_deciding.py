"""What a person saw is what they sign."""

import json
from typing import Any

import pytest
from styx_cli.approver import Approver
from styx_cli.client import Address, Client
from styx_cli.deciding import decide, find_grant
from styx_cli.failure import Failure
from styx_core import signing
from styx_core.errors import SignatureRefused

SECRET = b"FIXTURE owner token, 32 bytes .."
GRANT = {
    "id": "grt_0000000000000000000000000a",
    "target": "prod",
    "env": "prod",
    "scopes": ["write", "delete"],
    "duration": "1h",
    "command": ["aws", "s3", "rm", "s3://b/k"],
}


class KeepingClient(Client):
    """A client that keeps what it would send; nothing answers it but this."""

    def __init__(self) -> None:
        super().__init__(Address("http://127.0.0.1:1"))
        self.sent: list[tuple[str, str, Any]] = []

    def call(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        self.sent.append((method, path, json.loads(json.dumps(body))))
        return {"status": "active"}


def payload(**changed: Any) -> str:
    shown = {**GRANT, **changed}
    return signing.decision_payload(
        grant_id=shown["id"],
        verdict="approve",
        target=shown["target"],
        env=shown["env"],
        scopes=shown["scopes"],
        duration=shown["duration"],
        command=shown["command"],
    )


def test_the_signature_is_over_what_was_shown_and_nothing_else() -> None:
    client = KeepingClient()
    decide(Approver(SECRET, client), dict(GRANT), "approve")
    (_, path, body), key = client.sent[0], signing.public_key(signing.signing_key(SECRET))
    assert path == f"/v1/grants/{GRANT['id']}/decision"
    signing.verify(key, payload(), body["signature"])
    for changed in ({"target": "x"}, {"scopes": ["write"]}, {"command": ["aws"]}, {"env": "scm"}):
        with pytest.raises(SignatureRefused):
            signing.verify(key, payload(**changed), body["signature"])


def test_a_narrowed_approval_signs_the_narrowed_one() -> None:
    client = KeepingClient()
    decide(Approver(SECRET, client), dict(GRANT), "approve", ["write"], "15m", "only this")
    body, key = client.sent[0][2], signing.public_key(signing.signing_key(SECRET))
    assert (body["scopes"], body["duration"], body["reason"]) == (["write"], "15m", "only this")
    signing.verify(key, payload(scopes=["write"], duration="15m"), body["signature"])


def test_the_secret_is_in_nothing_that_is_sent() -> None:
    client = KeepingClient()
    decide(Approver(SECRET, client), dict(GRANT), "deny")
    assert "FIXTURE" not in json.dumps(client.sent)


def test_a_grant_is_found_by_its_id_or_its_end() -> None:
    other = {**GRANT, "id": "grt_0000000000000000000000000b"}
    assert find_grant([GRANT, other], GRANT["id"]) is GRANT
    assert find_grant([GRANT, other], "000b") is other
    assert find_grant([GRANT, other], "b") is None
    assert find_grant([GRANT, GRANT], "000a") is None


def test_no_terminal_and_no_token_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(Failure, match="STYX_ADMIN_TOKEN"):
        Approver.from_environ({})
