"""Issuing: minted, recorded, confirmed, and only then handed on."""

import pytest
from grants_fixture import ALLOW, HOUR, MINUTE, START, World, opened
from styx_core.contract.grants_events import CredentialIssued, GrantUsed
from styx_core.errors import (
    Invalid,
    LoginExpired,
    ProviderFailed,
    StyxError,
    Unavailable,
)
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)


async def test_adapters_are_told_what_the_grant_gives_not_what_the_call_asks(
    grants: World,
) -> None:
    grant_id = await grants.given("read", "write")
    call = grants.call("read", public_key="ssh-ed25519 FIXTURE")
    await grants.say(call)
    (asked,) = grants.adapters.asked
    (target,) = await grants.rows(repo.TARGET, name="staging")
    assert (asked.grant_id, asked.exec_id) == (grant_id, call.exec_id)
    assert asked.scopes == ("read", "write")
    assert (asked.edge_key, asked.public_key) == (call.edge_key, call.public_key)
    assert (asked.surface, asked.operation, asked.command) == ("s3", "ls", call.command)
    assert (asked.credential_ref, asked.config) == (target.credential_ref, target.config)
    assert asked.expires_at == START + HOUR


async def test_a_command_that_redaction_changed_goes_to_no_provider(grants: World) -> None:
    await grants.given()
    await grants.ask(exact=False, command=("aws", "s3", "ls", "***"))
    assert grants.adapters.asked[0].command == ()


async def test_only_this_call_s_edge_can_open_the_box(grants: World) -> None:
    await grants.policy(ALLOW)
    call = grants.call()
    answer = await grants.say(call)
    assert grants.opens(answer, call.exec_id)
    with pytest.raises(Exception, match="not for this key, grant and request"):
        grants.opens(answer, new_id("exe"))


async def test_no_secret_is_in_a_row_or_an_event(grants: World) -> None:
    await grants.policy(ALLOW)
    answer = await grants.ask()
    assert answer.sealed is not None
    written = repr(await grants.kept()) + repr(grants.bus.stream)
    assert "FIXTURE-session" not in written
    assert answer.sealed.box not in written


async def test_a_lease_handed_out_again_is_recorded_once_and_each_use_too(grants: World) -> None:
    await grants.policy(ALLOW)
    one, two = await grants.ask(), await grants.ask()
    (lease,) = await grants.rows(repo.LEASE)
    assert [one.sealed.lease_id, two.sealed.lease_id] == [lease.id, lease.id]
    assert len(await grants.events(CredentialIssued)) == 1
    uses = await grants.events(GrantUsed)
    assert [use.lease_id for use in uses] == [lease.id, lease.id]
    assert [use.exec_id for use in uses] == [use.id for use in await grants.rows(repo.USE)]


async def test_using_a_grant_keeps_it_from_the_idle_hour(grants: World) -> None:
    grant_id = await grants.given(duration="8h")
    for _ in range(3):
        grants.clock.on(50 * MINUTE)
        assert (await grants.ask()).access.grant_id == grant_id
    assert grants.adapters.asked[-1].expires_at == START + 100 * MINUTE + HOUR


@pytest.mark.parametrize(
    "trouble",
    [
        Unavailable("Vault is sealed"),
        LoginExpired("aws refuses the key"),
        ProviderFailed("aws answered 500"),
        Invalid("public_key: missing"),
    ],
    ids=lambda trouble: trouble.code,
)
async def test_what_adapters_cannot_do_comes_back_as_they_say_it(
    grants: World, trouble: StyxError
) -> None:
    await grants.given()
    grants.adapters.fails = trouble
    with pytest.raises(type(trouble), match=trouble.detail):
        await grants.ask()
    await nothing_was_issued(grants)


async def test_without_adapters_nothing_is_issued_and_the_grant_lives_on(grants: World) -> None:
    grant_id = await grants.given()
    away = {s: grants.bus.servers.pop(s) for s in list(grants.bus.servers) if ".adapters." in s}
    with pytest.raises(Unavailable, match="adapters is not running"):
        await grants.ask()
    await nothing_was_issued(grants)
    grants.bus.servers |= away
    assert (await grants.ask()).access.grant_id == grant_id


async def nothing_was_issued(grants: World) -> None:
    assert await grants.rows(repo.LEASE) == []
    assert await grants.rows(repo.USE) == []
    assert await grants.events(CredentialIssued, GrantUsed) == []


async def test_the_same_call_again_gets_its_credential_again(grants: World) -> None:
    """An answer that got lost on the way may be asked for again; nothing is minted for it."""
    await grants.given()
    call = grants.call()
    one, two = await grants.say(call), await grants.say(call)
    assert one.sealed.lease_id == two.sealed.lease_id
    assert grants.adapters.ended == []
    assert len(await grants.rows(repo.USE)) == 1
