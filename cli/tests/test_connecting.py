"""Connecting a target: its secret leaves this side only sealed, for that target alone."""

import json
from typing import Any

import pytest
from styx_cli.approver import Approver
from styx_cli.client import Address, Client
from styx_cli.connecting import connect
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_core import signing
from styx_core.errors import SignatureRefused
from styx_core.seal import OpeningKey, WontOpen, connect_info

SECRET = b"FIXTURE owner token, 32 bytes .."
KEY = OpeningKey.make()


class KeepingClient(Client):
    """A client that keeps what it would send, and has a catalog to show."""

    def __init__(self, sealing_key: str = KEY.public) -> None:
        super().__init__(Address("http://127.0.0.1:1"))
        self.sent: list[tuple[str, str, Any]] = []
        self._key = sealing_key

    def call(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        self.sent.append((method, path, json.loads(json.dumps(body))))
        return {"sealing_key": self._key} if path == "/v1/catalog" else {"name": "prod"}


def connecting(client: Client, **over: Any) -> Any:
    fields: dict[str, Any] = {
        "name": "prod",
        "provider": "aws",
        "env": "prod",
        "method": "role",
        "config": {"role_arn": "arn"},
        "secret": {"secret_access_key": "FIXTURE-key"},
    }
    return connect(Approver(SECRET, client), {"id": "prj_1"}, **{**fields, **over})


def verified(body: dict[str, Any], **changed: str) -> None:
    said = {name: body[name] for name in ("name", "provider", "env")} | changed
    payload = signing.target_payload(
        project_id="prj_1", target_id=body["id"], nonce=body["nonce"], **said
    )
    key = signing.public_key(signing.signing_key(SECRET))
    signing.verify(key, payload, body["signature"])


def test_the_secret_is_sealed_for_this_target_and_its_env_is_signed() -> None:
    client = KeepingClient()
    assert connecting(client) == {"name": "prod"}
    assert [(method, path) for method, path, _ in client.sent] == [
        ("GET", "/v1/catalog"),
        ("POST", "/v1/targets"),
    ]
    body = client.sent[-1][2]
    assert "FIXTURE" not in json.dumps(client.sent)
    secret = KEY.open(body["box"], connect_info(body["id"]))
    assert secret == {"secret_access_key": "FIXTURE-key"}
    with pytest.raises(WontOpen):
        KEY.open(body["box"], connect_info("tgt_another"))
    verified(body)
    for changed in ({"env": "staging"}, {"name": "other"}, {"provider": "ssh"}):
        with pytest.raises(SignatureRefused):
            verified(body, **changed)


def test_each_target_has_its_own_id_if_none_was_prepared() -> None:
    client = KeepingClient()
    connecting(client)
    connecting(client)
    connecting(client, target_id="tgt_prepared")
    ids = [body["id"] for _, path, body in client.sent if path == "/v1/targets"]
    assert len(set(ids)) == 3
    assert ids[2] == "tgt_prepared"


def test_without_a_secret_nothing_is_sealed_or_asked_for() -> None:
    client = KeepingClient()
    connecting(client, secret={})
    ((method, path, body),) = client.sent
    assert (method, path, body["box"]) == ("POST", "/v1/targets", None)


@pytest.mark.parametrize("key", ["", "FIXTURE", "AAAA", "é"])
def test_a_broker_without_a_key_to_seal_to_is_said_plainly(key: str) -> None:
    client = KeepingClient(key)
    with pytest.raises(Failure, match="no key to seal") as told:
        connecting(client)
    assert told.value.code is Exit.UNAVAILABLE
    assert "FIXTURE-key" not in told.value.text
    assert [path for _, path, _ in client.sent] == ["/v1/catalog"], "the secret went nowhere"
