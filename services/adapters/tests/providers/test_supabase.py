"""Supabase accounts: an access token handed on as it is, or the login that the CLI keeps."""

import os
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from conformance import Case, Conformance, now
from styx_adapters.adapter import Deps, Want
from styx_adapters.api import Api
from styx_adapters.local_login import LocalLogin
from styx_adapters.providers import supabase
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.provider import Provider
from styx_core.scope import Scope
from supabase_server import EXPIRED, GOOD, NOBODY, REFS, Account, supabase_account

CLI = Path(__file__).parents[4] / ".venv/clis/node_modules/.bin/supabase"
needs_cli = pytest.mark.skipif(not CLI.exists(), reason=f"no supabase CLI at {CLI}")


@pytest.fixture
def account() -> Iterator[Account]:
    """A fresh account."""
    with supabase_account() as made:
        yield made


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """An address that takes a call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    """A client of little patience."""
    made = Api(0.5)
    yield made
    await made.close()


def wanted(*scopes: Scope) -> Want:
    """A use of a grant of an hour."""
    until = now() + timedelta(hours=1)
    return Want(new_id("lse"), new_id("gnt"), frozenset(scopes or {Scope.READ}), until)


def account_case(account: Account, silent: str, deps: Deps, **more: Any) -> Case:
    """The account as a target."""
    given: dict[str, Any] = {
        "provider": supabase.PROVIDER,
        "adapter": supabase.adapter(deps),
        "method": "token",
        "config": {"ref": REFS[0], "api": account.url},
        "secret": {"token": GOOD},
        "want": wanted(),
        "shortest": timedelta(seconds=1),
        "refused": {"secret": {"token": EXPIRED}},
        "silent": {"api": silent},
        "hands_on": True,
    }
    return Case(**(given | more))


class TestToken(Conformance):
    """Held to what every provider is, connected by a token."""

    @pytest.fixture
    def case(self, account: Account, silent: str, api: Api) -> Case:
        """The account, by its token."""
        deps: Any = Deps(vault=None, now=now, api=api)  # type: ignore[arg-type]
        return account_case(account, silent, deps)

    @pytest.mark.parametrize("status", [500, 502, 503, 429])
    async def test_trouble_is_no_refusal(self, case: Case, account: Account, status: int) -> None:
        account.status = status
        with pytest.raises(ProviderFailed, match=str(status)) as told:
            await case.adapter.health(case.secret, case.config)
        assert "FIXTURE" not in told.value.detail

    @pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b"[1]", b'"x"', b"\xff", b"null"])
    async def test_an_answer_that_is_not_supabases_is_its_failure(
        self, case: Case, account: Account, body: bytes
    ) -> None:
        account.broken = body
        with pytest.raises(ProviderFailed):
            await case.adapter.health(case.secret, case.config)

    async def test_a_project_out_of_reach_is_named(self, case: Case) -> None:
        config = case.config | {"ref": "z" * 20}
        with pytest.raises(Invalid, match="^ref: "):
            await case.adapter.connect("token", self.target, config, case.secret)

    async def test_a_whole_account_needs_no_project(self, case: Case) -> None:
        config = {"api": case.config["api"]}
        made = await case.adapter.connect("token", self.target, config, case.secret)
        assert made.label == "an account with 2 projects"
        minted = await case.adapter.issue(case.secret, config, case.want)
        assert minted.secret["env"] == {"SUPABASE_ACCESS_TOKEN": GOOD}

    @pytest.mark.parametrize("scope", Scope)
    async def test_a_token_is_never_called_scoped(self, case: Case, scope: Scope) -> None:
        minted = await case.adapter.issue(case.secret, case.config, wanted(scope))
        assert (minted.scoped, minted.revocable, minted.handle) == (False, "none", {})


class TestCli(Conformance):
    """Held to what every provider is, connected by the CLI's own login."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """A home that the CLI has logged in to without a keyring."""
        store = tmp_path / ".supabase"
        store.mkdir()
        (store / "access-token").write_text(GOOD)
        return tmp_path

    @pytest.fixture
    def case(self, account: Account, silent: str, api: Api, home: Path) -> Case:
        """The same account, by that login; refused where the account knows no such token."""
        deps: Any = Deps(vault=None, now=now, api=api, login=LocalLogin(home, {}))  # type: ignore[arg-type]
        return account_case(
            account,
            silent,
            deps,
            method="cli",
            secret={},
            refused={"config": {"api": account.url + NOBODY}},
            local_machine=True,
        )

    async def test_vault_holds_the_accounts_name_alone(self, case: Case) -> None:
        _, stored = await self.standing(case)
        assert stored == {"account": "supabase", "method": "cli"}

    async def test_the_store_is_read_at_each_use(
        self, case: Case, home: Path, account: Account
    ) -> None:
        shown, stored = await self.standing(case)
        newer = f"sbp_v0_{'d' * 40}"
        (home / ".supabase/access-token").write_text(f"{newer}\n")
        with pytest.raises(LoginExpired):
            await case.adapter.health(stored, shown.config)
        account.tokens = {newer}
        assert await case.adapter.health(stored, shown.config) == f"project {REFS[0]}"
        minted = await case.adapter.issue(stored, shown.config, case.want)
        assert minted.secret["env"]["SUPABASE_ACCESS_TOKEN"] == newer

    @pytest.mark.parametrize("content", [None, "", "FIXTURE-garbage", f"{GOOD} {GOOD}", "\0"])
    async def test_a_cli_that_is_logged_out_says_so(
        self, case: Case, home: Path, content: str | None
    ) -> None:
        store = home / ".supabase/access-token"
        store.unlink()
        if content is not None:
            store.write_text(content)
        with pytest.raises(LoginExpired, match="SUPABASE_NO_KEYRING=1 supabase login") as told:
            await case.adapter.health({"account": "supabase"}, case.config)
        assert "FIXTURE" not in told.value.detail

    async def test_the_clis_own_folder_is_followed(self, account: Account, tmp_path: Path) -> None:
        (tmp_path / "access-token").write_text(GOOD)
        login = LocalLogin(Path("/nonexistent"), {"SUPABASE_HOME": str(tmp_path)})
        deps: Any = Deps(vault=None, now=now, login=login)  # type: ignore[arg-type]
        adapter = supabase.adapter(deps)
        assert await adapter.health({"account": "supabase"}, {"api": account.url})
        await deps.api.close()


def called(home: Path, env: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """The real CLI with nothing but this environment."""
    (home / "repo").mkdir(exist_ok=True)
    return subprocess.run(
        [str(CLI), *words],
        env={**env, "PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=home / "repo",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_cli
async def test_the_real_cli_does_all_with_a_handed_on_token(
    account: Account, api: Api, silent: str, tmp_path: Path
) -> None:
    profile = tmp_path / "played.yaml"
    lines = {"name": "played", "project_host": "localhost"}
    lines |= {"api_url": account.url, "dashboard_url": account.url}
    profile.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    deps: Any = Deps(vault=None, now=now, api=api)  # type: ignore[arg-type]
    case = account_case(account, silent, deps)
    minted = await case.adapter.issue(case.secret, case.config, case.want)
    env = {**case.provider.quiet, **minted.secret["env"]}
    to = ("--profile", str(profile))
    listed = called(tmp_path, env, "projects", "list", *to)
    assert (listed.returncode, REFS[0] in listed.stdout) == (0, True), listed.stderr
    # A token for reading deletes as well: that is why it isn't called scoped.
    gone = called(tmp_path, env, "projects", "delete", REFS[1], "--yes", *to)
    assert (gone.returncode, account.refs) == (0, [REFS[0]]), gone.stderr
    account.tokens.clear()
    refused = called(tmp_path, env, "projects", "list", *to)
    assert refused.returncode != 0
    assert GOOD not in refused.stdout + refused.stderr


@needs_cli
async def test_the_real_clis_login_is_where_it_is_read(tmp_path: Path, account: Account) -> None:
    env = {"SUPABASE_NO_KEYRING": "1", "SUPABASE_TELEMETRY_DISABLED": "1"}
    done = called(tmp_path, env, "login", "--token", GOOD)
    assert done.returncode == 0, done.stderr
    deps: Any = Deps(vault=None, now=now, login=LocalLogin(tmp_path, {}))  # type: ignore[arg-type]
    assert await supabase.adapter(deps).health({"account": "supabase"}, {"api": account.url})
    await deps.api.close()


def test_only_the_held_database_narrows_and_only_reading() -> None:
    carried = supabase.PROVIDER.to_json()
    again = Provider.from_json(carried, {"supabase": supabase.PROVIDER.tools[0]})
    reads, writes = frozenset({Scope.READ}), frozenset({Scope.READ, Scope.WRITE})
    for provider in (supabase.PROVIDER, again):
        assert provider.narrowable(reads, "x", "database")
        assert not provider.narrowable(writes, "x", "database")
        for method in ("database-loose", "token", "cli", "unheard-of", None):
            assert not provider.narrowable(reads, "x", method)
    plain = replace(supabase.PROVIDER, narrows=(Scope.READ,))
    assert plain.narrowable(reads, None, "token"), "a method that says nothing: as its provider"
