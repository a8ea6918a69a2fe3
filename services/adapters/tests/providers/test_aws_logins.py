"""AWS without a stored key: a role that trusts Styx's identity, and this machine's `aws` login."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from adapter_fixture import MemoryVault
from aws_calls import OBJECT, call
from aws_federation import Federated, federated_account
from conformance import Case, Conformance, now
from styx_adapters import aws_sts, identity
from styx_adapters.adapter import Deps, Want
from styx_adapters.local_login import LocalLogin
from styx_adapters.providers import aws
from styx_core import vault_rsa
from styx_core.errors import Invalid, LoginExpired, StyxError
from styx_core.ids import new_id
from styx_core.scope import Scope

ISSUER = "https://styx.example"
TARGET = new_id("tgt")
PLACE = {"region": "us-east-1"}


@pytest.fixture(scope="module")
def vault() -> MemoryVault:
    return MemoryVault()


@pytest.fixture(scope="module")
def federated(vault: MemoryVault) -> Iterator[tuple[Federated, dict[str, str]]]:
    import asyncio

    asyncio.run(vault_rsa.make(vault, identity.KEY))  # type: ignore[arg-type]
    jwk = asyncio.run(vault_rsa.public_jwk(vault, identity.KEY))  # type: ignore[arg-type]
    trust = {"iss": ISSUER, "aud": aws_sts.AUDIENCE, "sub": identity.subject(TARGET)}
    account = Federated(jwk, trust)
    with federated_account(account) as made:
        yield account, made


@pytest.fixture
def case(vault: MemoryVault, federated: tuple[Federated, dict[str, str]]) -> Case:
    _, made = federated
    return Case(
        provider=aws.PROVIDER,
        adapter=aws.adapter(Deps(vault, now, issuer=ISSUER)),  # type: ignore[arg-type]
        method="federation",
        config={**PLACE, "role_arn": made["role_arn"], "endpoint": made["endpoint"]},
        secret={},
        want=wanted(Scope.READ),
        shortest=aws.SHORTEST,
        refused={"config": {"role_arn": made["role_arn"].replace("styx-demo", "other")}},
        silent={"endpoint": "http://127.0.0.1:1"},
    )


def wanted(*scopes: Scope, **more: Any) -> Want:
    ids = {"lease_id": new_id("lse"), "grant_id": new_id("gnt")}
    until = now() + timedelta(hours=1)
    return Want(**ids, scopes=frozenset(scopes), until=until, surface="s3", **more)


class TestFederation(Conformance):
    """A role that trusts this Styx: nothing standing is stored."""

    target = TARGET


async def test_nothing_standing_is_stored(case: Case) -> None:
    state: Any = case.state()
    await case.connected(state, TARGET)
    assert list(state.vault.held.values()) == [{"method": "federation"}]


async def session(case: Case, target: str = TARGET) -> dict[str, str]:
    config = {**case.config, "method": "federation", "target_id": target}
    minted = await case.adapter.issue({}, config, wanted(Scope.READ))
    return dict(minted.secret["env"])


async def test_a_federated_session_for_reading_writes_nothing(case: Case) -> None:
    env = await session(case)
    assert call(env, "s3", "get_object", **OBJECT) == "ok"
    assert call(env, "s3", "delete_object", **OBJECT) == "AccessDenied"


async def test_the_token_of_another_target_opens_nothing(case: Case) -> None:
    with pytest.raises(LoginExpired):
        await session(case, new_id("tgt"))


@pytest.mark.parametrize(
    "more", [{"issuer": "https://other.example"}, {"now": lambda: now() - timedelta(hours=1)}]
)
async def test_a_foreign_or_old_token_is_refused(
    case: Case, vault: MemoryVault, more: dict[str, Any]
) -> None:
    deps: Any = replace(Deps(vault, now, issuer=ISSUER), **more)  # type: ignore[arg-type]
    with pytest.raises(LoginExpired) as told:
        await session(replace(case, adapter=aws.adapter(deps)))
    assert "ey" not in told.value.detail, "no token in what is told"


async def test_federation_needs_an_address_that_the_cloud_can_read(
    case: Case, vault: MemoryVault
) -> None:
    deps: Any = Deps(vault, now, issuer="http://127.0.0.1:7000")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="STYX_PUBLIC_URL"):
        await session(replace(case, adapter=aws.adapter(deps)))


async def test_a_second_role_ends_sessions_of_the_first(case: Case) -> None:
    config = {
        **case.config,
        "method": "federation",
        "target_id": TARGET,
        "revoke_role_arn": case.config["role_arn"],
    }
    first, second = [await case.adapter.issue({}, config, wanted(Scope.READ)) for _ in range(2)]
    assert first.revocable == "deny-policy"
    assert (await case.adapter.revoke({}, config, first.handle)).outcome == "deny-policy"
    assert call(first.secret["env"], "s3", "get_object", **OBJECT) == "AccessDenied"
    assert call(second.secret["env"], "s3", "get_object", **OBJECT) == "ok"


def local(case: Case, home: Path, **environ: str) -> Case:
    """The case of this machine's login, whose files stand below `home`."""
    deps: Any = Deps(MemoryVault(), now, login=LocalLogin(home, environ))  # type: ignore[arg-type]
    config = {k: v for k, v in case.config.items() if k != "role_arn"}
    return replace(
        case,
        adapter=aws.adapter(deps),
        method="cli",
        config={**config, "account": "work"},
        local_machine=True,
    )


def write_profiles(home: Path, **profiles: dict[str, str]) -> None:
    (home / ".aws").mkdir(exist_ok=True)
    (home / ".aws" / "credentials").write_text(
        "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
            for name, values in profiles.items()
        )
    )


@pytest.fixture
def keys(federated: tuple[Federated, dict[str, str]]) -> dict[str, str]:
    _, made = federated
    return {f"aws_{name}": made[name] for name in ("access_key_id", "secret_access_key")}


async def test_a_profile_is_read_at_each_use_and_only_its_name_is_kept(
    case: Case, keys: dict[str, str], tmp_path: Path
) -> None:
    mine = local(case, tmp_path)
    write_profiles(tmp_path, work=keys, other={**keys, "aws_access_key_id": "AKIAFIXTUREWRONG0000"})
    state: Any = mine.state()
    shown = await mine.connected(state, TARGET)
    assert list(state.vault.held.values()) == [{"method": "cli"}]
    assert shown.config["account"] == "work"
    minted = await mine.adapter.issue({}, shown.config, wanted(Scope.READ))
    assert (minted.scoped, minted.revocable) == (False, "expiry"), "a federated session"
    assert keys["aws_secret_access_key"] not in json.dumps(minted.secret)
    write_profiles(tmp_path, work={**keys, "aws_access_key_id": "AKIAFIXTUREWRONG0000"})
    with pytest.raises(LoginExpired):
        await mine.adapter.issue({}, shown.config, wanted(Scope.READ))
    (tmp_path / ".aws" / "credentials").unlink()
    with pytest.raises(LoginExpired, match="logged out"):
        await mine.adapter.health({}, shown.config)


async def test_a_profile_may_assume_a_role_and_is_narrowed(
    case: Case, keys: dict[str, str], tmp_path: Path
) -> None:
    mine = replace(local(case, tmp_path), method="cli-role")
    write_profiles(tmp_path, work=keys)
    config = {**mine.config, "role_arn": case.config["role_arn"], "method": "cli-role"}
    minted = await mine.adapter.issue({}, config, wanted(Scope.READ))
    assert minted.scoped
    assert call(minted.secret["env"], "s3", "delete_object", **OBJECT) == "AccessDenied"


async def test_a_session_of_a_profile_is_handed_on_as_what_it_is(
    case: Case, tmp_path: Path
) -> None:
    env = await session(case)
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    write_profiles(tmp_path, work={name.lower(): env[name] for name in names})
    mine = local(case, tmp_path)
    minted = await mine.adapter.issue({}, mine.config, wanted(Scope.READ))
    assert (minted.scoped, minted.revocable, minted.handle) == (False, "none", {})
    ended = await mine.adapter.revoke({}, mine.config, minted.handle)
    assert ended.outcome == "none"


@pytest.mark.parametrize("text", ["", "FIXTURE not a file of profiles", "[work]\n", "\x00\xff"])
async def test_a_broken_store_is_told_and_not_quoted(case: Case, tmp_path: Path, text: str) -> None:
    (tmp_path / ".aws").mkdir()
    (tmp_path / ".aws" / "credentials").write_text(text)
    mine = local(case, tmp_path)
    with pytest.raises(StyxError) as told:
        await mine.adapter.health({}, mine.config)
    assert "FIXTURE" not in told.value.detail


async def test_the_environment_of_adapters_names_no_identity(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "AWS_ACCESS_KEY_ID", "AKIAFIXTURESTRAYED00")
    monkeypatch.setitem(os.environ, "AWS_SECRET_ACCESS_KEY", "FIXTURE-strayed-secret")
    mine = local(case, tmp_path)
    with pytest.raises(LoginExpired):
        await mine.adapter.health({}, mine.config)


async def test_elsewhere_than_on_this_machine_it_is_not_offered(case: Case) -> None:
    deps: Any = Deps(MemoryVault(), now)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="own machine"):
        await aws.adapter(deps).health({}, {**case.config, "account": "work"} | {"role_arn": ""})
    assert {m.name for m in aws.PROVIDER.offered(False).methods} == {"federation", "role", "key"}
