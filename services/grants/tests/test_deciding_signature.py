"""A signature is good for one person's one decision about one request, and for nothing else."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grants_fixture import World, opened
from styx_core.contract.grants_events import GrantDecided
from styx_core.errors import AlreadyDecided, SignatureRefused
from styx_core.ids import new_id
from styx_core.scope import Scope

grants = pytest.fixture(opened)


@pytest.mark.parametrize(
    "signed",
    [
        {"grant_id": new_id("grt")},
        {"verdict": "deny"},
        {"target": "prod"},
        {"env": "preview"},
        {"scopes": ("read",)},
        {"duration": "15m"},
        {"command": ("aws", "s3", "ls", "s3://other")},
    ],
    ids=lambda signed: next(iter(signed)),
)
async def test_signed_for_another_decision_it_is_refused(
    grants: World, signed: dict[str, Any]
) -> None:
    asked = await grants.ask("read", "delete")
    command = await grants.choose(asked.access.grant_id, signed=signed)
    refusal = await grants.refused(SignatureRefused, command)
    assert "look at the request again" in refusal


async def test_a_no_cannot_be_turned_into_a_yes(grants: World) -> None:
    asked = await grants.ask("delete")
    no = await grants.choose(asked.access.grant_id, "deny")
    turned = no.choice.model_copy(update={"verdict": "approve"})
    await grants.refused(SignatureRefused, no.model_copy(update={"choice": turned}))


@pytest.mark.parametrize("more", [{"scopes": (Scope.READ, Scope.DELETE)}, {"duration": "always"}])
async def test_what_was_narrowed_cannot_be_widened_on_the_way(
    grants: World, more: dict[str, Any]
) -> None:
    asked = await grants.ask("read", "delete")
    narrow = await grants.choose(asked.access.grant_id, scopes=("read",), duration="15m")
    widened = narrow.choice.model_copy(update=more)
    await grants.refused(SignatureRefused, narrow.model_copy(update={"choice": widened}))


async def test_another_s_key_does_not_speak_for_a_person(grants: World) -> None:
    await grants.approver("lead")
    asked = await grants.ask("delete")
    for key in (grants.keys["lead"], Ed25519PrivateKey.generate()):
        await grants.refused(SignatureRefused, await grants.choose(asked.access.grant_id, key=key))


@pytest.mark.parametrize("signature", ["", "not base64!", "AAAA", "ä"])
async def test_what_is_no_signature_is_refused(grants: World, signature: str) -> None:
    asked = await grants.ask("delete")
    command = await grants.choose(asked.access.grant_id)
    await grants.refused(SignatureRefused, command.model_copy(update={"signature": signature}))


async def test_replayed_it_decides_nothing_again(grants: World) -> None:
    asked = await grants.ask("delete")
    command = await grants.choose(asked.access.grant_id)
    await grants.say(command)
    await grants.refused(AlreadyDecided, command)
    assert len(await grants.events(GrantDecided)) == 1


async def test_replayed_on_the_next_request_of_the_same_call_it_is_refused(grants: World) -> None:
    first = await grants.ask("delete")
    command = await grants.choose(first.access.grant_id, "deny")
    await grants.say(command)
    second = await grants.ask("delete")
    moved = command.choice.model_copy(update={"grant_id": second.access.grant_id})
    await grants.refused(SignatureRefused, command.model_copy(update={"choice": moved}))
