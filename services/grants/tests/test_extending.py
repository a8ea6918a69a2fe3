"""One extension: signed, by the rules of an approval today, and only once."""

from datetime import timedelta
from typing import Any

import pytest
from grants_fixture import OWNER, World, opened
from styx_core.contract.grants import ExtendGrant
from styx_core.contract.grants_events import GrantExtended
from styx_core.errors import (
    AlreadyDecided,
    Forbidden,
    GrantOver,
    SignatureRefused,
    StyxError,
    UnknownGrant,
)
from styx_core.ids import new_id
from styx_core.signing import extend_payload, sign
from styx_grants import repository as repo

grants = pytest.fixture(opened)


async def row(grants: World, grant_id: str) -> Any:
    (found,) = await grants.rows(repo.GRANT, id=grant_id)
    return found


async def extending(
    grants: World, grant_id: str, over: dict[str, str] | None = None, person: str = OWNER
) -> ExtendGrant:
    """A signed extension; `over` is what was signed instead."""
    end = (await row(grants, grant_id)).expires_at
    said = {"grant_id": grant_id, "until": end.isoformat() if end else "never"}
    signature = sign(grants.keys[person], extend_payload(**said | (over or {})))
    return ExtendGrant(grant_id=grant_id, person=person, signature=signature)


async def approved(grants: World, **choice: Any) -> str:
    """A grant that a person approved."""
    asked = await grants.ask("write")
    await grants.decide(asked.access.grant_id, **choice)
    return asked.access.grant_id


async def test_a_grant_lives_as_long_again_once(grants: World) -> None:
    grant_id = await approved(grants, duration="1h")
    before = (await row(grants, grant_id)).expires_at
    command = await extending(grants, grant_id)
    answer = await grants.say(command)
    assert answer.expires_at == before + timedelta(hours=1)
    assert (await row(grants, grant_id)).expires_at == before + timedelta(hours=1)
    (event,) = await grants.events(GrantExtended)
    assert (event.actor, event.expires_at) == (OWNER, before + timedelta(hours=1))
    assert event.payload == extend_payload(grant_id=grant_id, until=before.isoformat())
    assert event.signature == command.signature
    again = await extending(grants, grant_id)
    assert "once already" in await grants.refused(AlreadyDecided, again)
    assert "once already" in await grants.refused(AlreadyDecided, command)


@pytest.mark.parametrize("over", [{"until": "2099-01-01"}, {"grant_id": new_id("grt")}])
async def test_another_signature_extends_nothing(grants: World, over: dict[str, str]) -> None:
    grant_id = await approved(grants, duration="15m")
    before = (await row(grants, grant_id)).expires_at
    await grants.refused(SignatureRefused, await extending(grants, grant_id, over))
    assert (await row(grants, grant_id)).expires_at == before


@pytest.mark.parametrize(
    ("duration", "error"), [("task", Forbidden), ("always", Forbidden), ("once", Forbidden)]
)
async def test_only_what_was_approved_for_a_time_is_extended(
    grants: World, duration: str, error: type[StyxError]
) -> None:
    asked = await grants.ask("write", command_digest="d" * 64)
    await grants.decide(asked.access.grant_id, duration=duration)
    await grants.refused(error, await extending(grants, asked.access.grant_id))


async def test_what_is_over_waits_or_is_nowhere_is_not_extended(grants: World) -> None:
    waiting = (await grants.ask("write")).access.grant_id
    await grants.refused(GrantOver, await extending(grants, waiting))
    nowhere = ExtendGrant(grant_id=new_id("grt"), person=OWNER, signature="x")
    await grants.refused(UnknownGrant, nowhere)


async def test_a_stranger_and_a_denying_rule_extend_nothing(grants: World) -> None:
    grant_id = await approved(grants, duration="1h")
    command = await extending(grants, grant_id)
    stranger = command.model_copy(update={"person": "eve"})
    await grants.refused(Forbidden, stranger)
    await grants.policy('[[rule]]\nid = "never"\neffect = "deny"\n')
    assert "any more" in await grants.refused(Forbidden, command)
