"""Google Cloud by this machine's `gcloud` login: asked at each use, copied nowhere."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from conformance import Case, Conformance, held, now
from gcp_case import DEPLOYER, OTHER, TARGET, Played, google_cloud, token, wanted
from styx_adapters import local_login
from styx_adapters.api import Api
from styx_adapters.local_login import LocalLogin
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.scope import Scope

PERSON, COLLEAGUE = "jane@example.com", "joe@example.com"
LOGIN_SCOPES = ("openid", "userinfo.email", "cloud-platform", "compute")
GCLOUD = """#!/bin/sh
[ "$1 $2 $4 $#" = "auth print-access-token --quiet 4" ] || exit 2
exec cat "$HOME/.config/gcloud/${3#--account=}"
"""
"""Answers as gcloud does, with what stands in a file per account."""


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with google_cloud() as made:
        made.cloud.creators[DEPLOYER] = {PERSON}
        yield made


@pytest.fixture
def home(tmp_path: Path, played: Played) -> Path:
    """A person's home, with two accounts logged in."""
    store = tmp_path / "home/.config/gcloud"
    store.mkdir(parents=True)
    for account in (PERSON, COLLEAGUE):
        (store / account).write_text(played.cloud.made(account, *LOGIN_SCOPES) + "\n")
    program = tmp_path / "bin/gcloud"
    program.parent.mkdir()
    program.write_text(GCLOUD)
    program.chmod(0o755)
    return tmp_path / "home"


@pytest.fixture
def case(played: Played, home: Path) -> Case:
    environ = {"PATH": f"{home.parent}/bin:{os.defpath}", "CLOUDSDK_AUTH_ACCESS_TOKEN": "FIXTURE"}
    return played.case(
        "cli-service-account",
        played.adapter(login=LocalLogin(home, environ)),
        config={"account": PERSON, "service_account": DEPLOYER},
        refused={"config": {"service_account": OTHER}},
        local_machine=True,
    )


@pytest.fixture
def plain(case: Case) -> Case:
    """The same machine, without a service account."""
    config = {name: v for name, v in case.config.items() if name != "service_account"}
    refused = {"config": {"account": "nobody@example.com"}}
    return replace(case, method="cli", config=config, refused=refused, hands_on=True)


class TestCliServiceAccount(Conformance):
    """A service account, by the login."""

    target = TARGET


class TestCli(Conformance):
    """The login's own token, handed on."""

    target = TARGET

    @pytest.fixture
    def case(self, plain: Case) -> Case:
        return plain


async def test_vault_holds_nothing_and_the_config_the_accounts_name(case: Case) -> None:
    state = case.state()
    shown = await case.connected(state, TARGET)
    assert held(state)[shown.credential_ref] == {"method": "cli-service-account"}
    assert shown.config["account"] == PERSON


async def test_a_login_with_a_service_account_is_narrowed_as_any(
    case: Case, played: Played, home: Path
) -> None:
    minted = await case.adapter.issue({}, case.config, wanted(Scope.READ))
    assert minted.scoped
    assert played.status(minted, "DELETE", "/storage/v1/b/releases/o/app-1.0.tgz") == 403
    assert token(minted) not in (home / ".config/gcloud" / PERSON).read_text()


async def test_a_login_that_is_handed_on_is_not_said_to_be_narrowed(
    plain: Case, home: Path
) -> None:
    assert not plain.provider.narrowable(frozenset({Scope.READ}), "storage", plain.method)
    minted = await plain.adapter.issue({}, plain.config, wanted(Scope.READ))
    assert (minted.scoped, minted.revocable, minted.handle) == (False, "none", {})
    assert token(minted) == (home / ".config/gcloud" / PERSON).read_text().strip()
    assert minted.expires_at <= now() + timedelta(minutes=5), "it may have no more life than that"


async def test_each_use_asks_for_the_account_that_was_named(
    plain: Case, played: Played, home: Path
) -> None:
    config = {**plain.config, "account": COLLEAGUE}
    minted = await plain.adapter.issue({}, config, wanted())
    assert played.cloud.tokens[token(minted)].who == COLLEAGUE
    renewed = played.cloud.made(COLLEAGUE, *LOGIN_SCOPES)
    (home / ".config/gcloud" / COLLEAGUE).write_text(renewed)
    assert token(await plain.adapter.issue({}, config, wanted())) == renewed


async def test_a_login_of_somebody_else_is_refused(plain: Case, played: Played, home: Path) -> None:
    other = played.cloud.made(COLLEAGUE, *LOGIN_SCOPES)
    (home / ".config/gcloud" / PERSON).write_text(other)
    with pytest.raises(LoginExpired, match="another account"):
        await plain.adapter.health({}, plain.config)


@pytest.mark.parametrize("left", [None, "", "  \n"])
async def test_a_logged_out_machine_is_an_expired_login(
    case: Case, home: Path, left: str | None
) -> None:
    store = home / ".config/gcloud" / PERSON
    store.unlink()
    if left is not None:
        store.write_text(left)
    with pytest.raises(LoginExpired, match="logged out"):
        await case.adapter.issue({}, case.config, wanted())


async def test_a_garbled_login_is_refused_by_google(case: Case, plain: Case, home: Path) -> None:
    (home / ".config/gcloud" / PERSON).write_text("ya29.FIXTURE-garbled")
    for each in (case, plain):
        with pytest.raises(LoginExpired) as told:
            await each.adapter.health({}, each.config)
        assert "FIXTURE" not in told.value.detail


async def test_what_is_no_token_is_handed_to_nobody(plain: Case, home: Path) -> None:
    (home / ".config/gcloud" / PERSON).write_text("Updates are available!\nya29.FIXTURE-x\n")
    with pytest.raises(LoginExpired, match="prints no token"):
        await plain.adapter.issue({}, plain.config, wanted())


async def test_a_login_that_can_not_be_renewed_now_is_no_refusal(case: Case, home: Path) -> None:
    (home / ".config/gcloud" / PERSON).unlink()
    with pytest.raises(ProviderFailed):
        await case.adapter.health({}, case.config | case.silent)


async def test_a_login_needs_this_machine_and_gcloud(
    case: Case, played: Played, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Invalid, match="own machine only"):
        await played.adapter().issue({}, case.config, wanted())
    without = played.adapter(login=LocalLogin(home, {"PATH": "/nonexistent"}))
    with pytest.raises(ProviderFailed, match="gcloud is not installed"):
        await without.issue({}, case.config, wanted())
    (home.parent / "bin/gcloud").write_text("#!/bin/sh\nexec sleep 60\n")
    monkeypatch.setattr(local_login, "RUN_SECONDS", 0.2)
    with pytest.raises(ProviderFailed, match="took over"):
        await case.adapter.issue({}, case.config, wanted())


def real_store(home: Path, url: str, refresh: str) -> None:
    """A login as gcloud 528 keeps it: credentials.db, and a configuration that names the place."""
    store = home / ".config/gcloud"
    shutil.rmtree(store)
    (store / "configurations").mkdir(parents=True)
    (store / "configurations/config_default").write_text(f"[auth]\ntoken_host = {url}/token\n")
    kept = {
        "type": "authorized_user", "client_id": "FIXTURE", "client_secret": "FIXTURE",
        "refresh_token": refresh, "token_uri": f"{url}/token",
    }  # fmt: skip
    with sqlite3.connect(store / "credentials.db") as base:
        base.execute("CREATE TABLE credentials (account_id TEXT PRIMARY KEY, value BLOB)")
        base.execute("INSERT INTO credentials VALUES (?, ?)", (PERSON, json.dumps(kept)))


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="needs Google's gcloud")
async def test_the_real_gcloud_is_asked_for_its_own_token(played: Played, home: Path) -> None:
    played.cloud.logins["1//FIXTURE-refresh"] = (PERSON, LOGIN_SCOPES)
    real_store(home, played.url, "1//FIXTURE-refresh")
    adapter: Any = played.adapter(
        login=LocalLogin(home, {"PATH": os.environ["PATH"]}), api=Api(answer_seconds=4.0)
    )
    config = {"project": "acme-prod", "endpoint": played.url, "account": PERSON}
    assert await adapter.health({}, config) == f"{PERSON} in acme-prod"
    minted = await adapter.issue({}, {**config, "service_account": DEPLOYER}, wanted())
    assert played.cloud.tokens[token(minted)].who == DEPLOYER
    with pytest.raises(LoginExpired, match="logged out"):
        await adapter.health({}, {**config, "account": COLLEAGUE})
    del played.cloud.logins["1//FIXTURE-refresh"]
    (home / ".config/gcloud/access_tokens.db").unlink()
    with pytest.raises(LoginExpired, match="logged out"):
        await adapter.health({}, config)
