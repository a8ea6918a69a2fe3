"""Every credential is verified before it is stored, and sealed before it leaves."""

import asyncio
from typing import Any

import pytest
from adapter_fixture import MemoryVault, StubAdapter, issue_command, state
from styx_adapters.handlers import State, check_health, connect, issue, revoke_lease
from styx_core.contract.adapters import CheckHealth, Connect, Issue, Issued, RevokeLease
from styx_core.errors import (
    Invalid,
    LoginExpired,
    NotConnected,
    ProviderFailed,
    StyxError,
    Unavailable,
)
from styx_core.ids import new_id
from styx_core.seal import OpeningKey, WontOpen, connect_info, seal, use_info
from styx_core.vault import VaultSealed

REF = "creds/stub/tgt"
EDGE = OpeningKey.make()
SECRET = {"token": "FIXTURE-root"}


@pytest.fixture
def adapter() -> StubAdapter:
    return StubAdapter()


@pytest.fixture
def vault() -> MemoryVault:
    return MemoryVault({REF: dict(SECRET)})


@pytest.fixture
def service(adapter: StubAdapter, vault: MemoryVault) -> State:
    return state(adapter, vault)


def connecting(service: State, secret: Any = SECRET, info: str = "", **more: Any) -> Connect:
    target = new_id("tgt")
    box = seal(secret, service.key.public, info or connect_info(target))
    given: dict[str, Any] = {"provider": "stub", "method": "token", "config": {"place": "here"}}
    return Connect(target_id=target, **({**given, "box": box} | more))


async def test_connecting_stores_what_was_verified(service: State, vault: MemoryVault) -> None:
    command = connecting(service)
    shown = await connect(command, service)
    ref = f"creds/stub/{command.target_id}"
    assert vault.held[ref] == {**SECRET, "method": "token"}
    assert shown.model_dump() == {
        "credential_ref": ref,
        "config": {"place": "here", "level": "1", "method": "token"},
        "label": "a stub",
    }


@pytest.mark.parametrize(
    ("more", "error", "says"),
    [
        ({"provider": "frob"}, Invalid, "provider: no provider 'frob'"),
        ({"provider": "broken"}, Unavailable, "disabled: ImportError"),
        ({"method": "frob"}, Invalid, "method: "),
        ({"method": "login", "box": None}, Invalid, "own machine only"),
        ({"config": {"place": "here", "frob": "1"}}, Invalid, "frob: "),
        ({"config": {"place": "here", **SECRET}}, Invalid, "token: secret fields go sealed"),
        ({"box": None}, Invalid, "token: token is needed"),
        ({"box": "frob"}, Invalid, "box: "),
        ({"box": "A" * 3000}, Invalid, "box: "),
        ({"box": "é"}, Invalid, "box: "),
    ],
)
async def test_what_cannot_be_connected_is_named_and_not_stored(
    service: State, vault: MemoryVault, more: dict[str, Any], error: type[StyxError], says: str
) -> None:
    with pytest.raises(error) as told:
        await connect(connecting(service, **more), service)
    assert says in told.value.detail
    assert "FIXTURE" not in told.value.detail
    assert list(vault.held) == [REF]


async def test_a_box_for_another_target_does_not_open(service: State) -> None:
    with pytest.raises(Invalid, match="box: "):
        await connect(connecting(service, info=connect_info("tgt_other")), service)
    elsewhere = seal(SECRET, EDGE.public, connect_info("tgt"))
    with pytest.raises(Invalid, match="box: "):
        await connect(connecting(service, box=elsewhere), service)


@pytest.mark.parametrize("error", [LoginExpired("no"), ProviderFailed("away")])
async def test_what_is_not_verified_is_not_stored(
    service: State, adapter: StubAdapter, vault: MemoryVault, error: StyxError
) -> None:
    adapter.trouble = error
    with pytest.raises(type(error)):
        await connect(connecting(service), service)
    assert list(vault.held) == [REF]


def opened(key: OpeningKey, command: Issue, issued: Issued) -> dict[str, Any]:
    return key.open(issued.sealed.box, use_info(command.grant_id, command.exec_id))


@pytest.mark.parametrize("certificate", [False, True])
async def test_a_credential_leaves_sealed_to_the_edge_that_asked(
    service: State, adapter: StubAdapter, certificate: bool
) -> None:
    adapter.certificate = certificate
    command = issue_command(EDGE)
    issued = await issue(command, service)
    text = issued.model_dump_json()
    assert "FIXTURE" not in text
    assert "FIXTURE" not in repr(issued)
    secret = opened(EDGE, command, issued)
    assert "FIXTURE-minted-1" in str(secret)
    assert issued.sealed.kind == ("ssh-agent" if certificate else "env")
    assert (issued.sealed.lease_id, issued.fresh) == (command.lease_id, True)
    assert "FIXTURE-root" not in str(secret)


async def test_a_box_opens_for_that_key_grant_and_call_alone(service: State) -> None:
    command = issue_command(EDGE)
    box = (await issue(command, service)).sealed.box
    for key, grant, exec_id in (
        (OpeningKey.make(), command.grant_id, command.exec_id),
        (EDGE, new_id("gnt"), command.exec_id),
        (EDGE, command.grant_id, new_id("exe")),
    ):
        with pytest.raises(WontOpen):
            key.open(box, use_info(grant, exec_id))


async def test_a_live_credential_is_sealed_anew_for_each_call(
    service: State, adapter: StubAdapter
) -> None:
    first = issue_command(EDGE)
    boxes = [(await issue(first, service)).sealed.box]
    for _ in range(3):
        edge = OpeningKey.make()
        ids = {"exec_id": new_id("exe"), "lease_id": new_id("lse"), "edge_key": edge.public}
        command = first.model_copy(update=ids)
        issued = await issue(command, service)
        assert (issued.fresh, issued.sealed.lease_id) == (False, first.lease_id)
        assert opened(edge, command, issued) == {"env": {"STUB_TOKEN": "FIXTURE-minted-1"}}
        boxes.append(issued.sealed.box)
    assert len(adapter.wanted) == 1
    assert len(set(boxes)) == 4


async def test_calls_side_by_side_share_one_minting(service: State, adapter: StubAdapter) -> None:
    adapter.gate = asyncio.Event()
    first = issue_command(EDGE)
    commands = [
        first.model_copy(update={"exec_id": new_id("exe"), "lease_id": new_id("lse")})
        for _ in range(8)
    ]
    calls = [asyncio.create_task(issue(each, service)) for each in commands]
    await asyncio.wait(calls, timeout=0, return_when=asyncio.FIRST_COMPLETED)
    adapter.gate.set()
    issued = await asyncio.gather(*calls)
    assert len(adapter.wanted) == 1
    assert sorted(each.fresh for each in issued) == [False] * 7 + [True]
    assert len({each.sealed.lease_id for each in issued}) == 1


async def test_a_minting_that_failed_is_tried_by_the_next_call(
    service: State, adapter: StubAdapter
) -> None:
    adapter.trouble = ProviderFailed("away")
    command = issue_command(EDGE)
    with pytest.raises(ProviderFailed):
        await issue(command, service)
    adapter.trouble = None
    assert (await issue(command, service)).fresh


@pytest.mark.parametrize("key", ["", "frob", "A" * 1624, "é", EDGE.public[:-4]])
async def test_for_an_edge_without_a_key_nothing_is_minted(
    service: State, adapter: StubAdapter, key: str
) -> None:
    command = issue_command(EDGE, edge_key=key)
    with pytest.raises(Invalid, match="edge_key: not a sealing key"):
        await issue(command, service)
    assert adapter.wanted == []


async def test_what_is_wanted_reaches_the_adapter_as_the_grant_says_it(
    service: State, adapter: StubAdapter
) -> None:
    command = issue_command(
        EDGE, once=True, surface="s3", operation="s3:GetObject", command=("stub", "list")
    )
    await issue(command, service)
    (want,) = adapter.wanted
    assert (want.once, want.surface, want.operation) == (True, "s3", "s3:GetObject")
    assert (want.command, want.until) == (("stub", "list"), command.expires_at)
    assert want.scopes == set(command.scopes)


async def test_vaults_trouble_issues_nothing(
    service: State, adapter: StubAdapter, vault: MemoryVault
) -> None:
    with pytest.raises(NotConnected, match="connect it again"):
        await issue(issue_command(EDGE, credential_ref="creds/stub/gone"), service)
    vault.trouble = VaultSealed("sealed")
    for call in (
        issue(issue_command(EDGE), service),
        connect(connecting(service), service),
        revoke_lease(revoking("lse_x"), service),
        check_health(CheckHealth(provider="stub", credential_ref=REF, config={}), service),
    ):
        with pytest.raises(Unavailable, match="sealed or away"):
            await call
    assert adapter.wanted == []


def revoking(lease_id: str, **more: Any) -> RevokeLease:
    given: dict[str, Any] = {
        "lease_id": new_id("lse") if lease_id == "lse_x" else lease_id,
        "grant_id": new_id("gnt"),
        "provider": "stub",
        "credential_ref": REF,
        "config": {},
        "handle": {"number": "1"},
    }
    return RevokeLease(**(given | more))


@pytest.mark.parametrize("trouble", [None, LoginExpired("no"), ProviderFailed("away")])
async def test_a_revoked_lease_is_forgotten_whatever_the_provider_says(
    service: State, adapter: StubAdapter, trouble: StyxError | None
) -> None:
    command = issue_command(EDGE)
    await issue(command, service)
    adapter.trouble = trouble
    told = await revoke_lease(revoking(command.lease_id), service)
    assert told.outcome == ("failed" if trouble else "hard")
    assert adapter.ended == ([] if trouble else [{"number": "1"}])
    adapter.trouble = None
    assert (await issue(command, service)).fresh


async def test_a_disabled_provider_ends_nothing_but_hands_out_nothing_either(
    service: State,
) -> None:
    command = issue_command(EDGE)
    await issue(command, service)
    with pytest.raises(Unavailable, match="disabled"):
        await revoke_lease(revoking(command.lease_id, provider="broken"), service)
    assert service.leases.find(command) is None


@pytest.mark.parametrize(
    ("trouble", "ok", "expired"),
    [
        (None, True, False),
        (LoginExpired("refused"), False, True),
        (ProviderFailed("did not answer"), False, False),
        (Unavailable("away"), False, False),
    ],
)
async def test_only_a_refusal_counts_as_expired(
    service: State, adapter: StubAdapter, trouble: StyxError | None, ok: bool, expired: bool
) -> None:
    adapter.trouble = trouble
    told = await check_health(CheckHealth(provider="stub", credential_ref=REF, config={}), service)
    assert (told.ok, told.expired) == (ok, expired)
    assert told.detail == (trouble.detail if trouble else "a stub")
