"""A credential: opened here, for this call alone."""

from typing import Any

import pytest
from styx_core.contract.grants import GetCredential
from styx_core.ids import new_id
from styx_core.seal import OpeningKey, use_info

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


@pytest.fixture
def grant_id(desk: Any) -> str:
    standing = desk.grants.standing(new_id("grt"), status="active", decided_by="user")
    return str(standing.grant_id)


async def test_it_comes_as_environment(desk: Any, grant_id: str, until_ms: tuple[Any, int]) -> None:
    made = await desk("get_credential", {"grantId": grant_id})
    assert made.fields == {
        "kind": "env",
        "env": {"ACME_KEY": "FIXTURE-key"},
        "socketPath": None,
        "expiresAt": until_ms[1],
        "scoped": True,
    }


async def test_each_call_has_a_key_and_an_id_of_its_own(desk: Any, grant_id: str) -> None:
    for _ in range(2):
        await desk("get_credential", {"grantId": grant_id})
    first, second = (c for c in desk.grants.asked if isinstance(c, GetCredential))
    assert first.edge_key != second.edge_key
    assert first.exec_id != second.exec_id
    assert first.public_key is None


async def test_a_certificate_comes_beside_no_socket(desk: Any, grant_id: str) -> None:
    desk.grants.secret = {"certificate": "ssh-ed25519-cert-v01@openssh.com AAAA", "env": {}}
    made = await desk("get_credential", {"grantId": grant_id, "publicKey": KEY})
    assert made.fields["kind"] == "ssh-agent"
    assert made.fields["env"] == {"STYX_SSH_CERTIFICATE": desk.grants.secret["certificate"]}
    assert made.fields["socketPath"] is None
    assert desk.grants.asked[-1].public_key == KEY


@pytest.mark.parametrize("what", ["key", "grant", "request"])
async def test_a_box_for_another_does_not_open(desk: Any, grant_id: str, what: str) -> None:
    def sealed_to(command: GetCredential) -> tuple[str, str]:
        key = OpeningKey.make().public if what == "key" else command.edge_key
        grant = new_id("grt") if what == "grant" else command.grant_id
        exec_id = new_id("exe") if what == "request" else command.exec_id
        return key, use_info(grant, exec_id)

    desk.grants.sealed_to = sealed_to
    made = await desk("get_credential", {"grantId": grant_id})
    assert made.fields is None
    assert made.refused == (
        "a credential came that is not for this call; it was thrown away (code -32000)"
    )


async def test_a_pending_grant_gives_nothing(desk: Any) -> None:
    grant_id = desk.grants.standing(new_id("grt"), status="pending").grant_id
    made = await desk("get_credential", {"grantId": grant_id})
    assert made.fields is None
    assert made.refused.endswith("(code -32007)")
