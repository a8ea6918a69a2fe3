"""A project's Postgres as a target: connecting, what is kept where, and real programs."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest
from conformance import Case, Conformance
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.vault import Vault, VaultError
from supabase_postgres import PASSWORD, USER, Postgres
from supabase_target import INSERT, LIFTED, READ, TARGET, connected, ended, minted, standing
from supabase_target import case as case
from supabase_target import server as server
from supabase_target import silent as silent
from test_supabase import CLI, needs_cli
from vault_fixture import vault as vault

pytestmark = pytest.mark.asyncio(loop_scope="module")


class TestDatabase(Conformance):
    """Held to what every provider is."""

    target = TARGET


async def test_what_fails_its_trial_is_not_kept(case: Case, vault: Vault, server: Postgres) -> None:
    server.ask("GRANT INSERT ON notes TO PUBLIC")
    target = new_id("tgt")
    try:
        with pytest.raises(Invalid, match="^method: "):
            await case.adapter.connect("database", target, case.config, case.secret)
    finally:
        server.ask("REVOKE ALL ON notes FROM PUBLIC")
    with pytest.raises(VaultError):
        await vault.get(f"database/config/adapters-{target}")


async def test_the_password_goes_to_openbaos_engine_alone(case: Case, vault: Vault) -> None:
    made = await case.adapter.connect("database", TARGET, case.config, case.secret)
    assert PASSWORD not in f"{made.secret}{made.config}{made.label}{made!r}"
    assert PASSWORD not in str(await vault.get(f"database/config/adapters-{TARGET}"))
    login = await minted(case, READ)
    assert PASSWORD not in str(login.secret)


@pytest.mark.parametrize(
    ("config", "secret", "kind", "told"),
    [
        ({}, {"password": "FIXTURE-wrong"}, LoginExpired, "refuses the login of boss"),
        ({"database": "nothing"}, {}, LoginExpired, "at nothing"),
        ({"port": "1"}, {}, ProviderFailed, "did not answer as a PostgreSQL"),
        ({"host": "no-such-host.invalid"}, {}, ProviderFailed, "did not answer"),
        ({"sslmode": "verify-full"}, {}, Invalid, "^sslmode: "),
        ({"sslmode": "disable"}, {}, LoginExpired, "SQLSTATE 28000"),
    ],
)
async def test_each_trouble_has_its_name(
    case: Case, config: dict[str, str], secret: dict[str, str], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told) as error:
        await case.adapter.connect("database", TARGET, case.config | config, case.secret | secret)
    assert "FIXTURE" not in str(error.value)


async def test_a_changed_password_is_an_expired_login(case: Case, server: Postgres) -> None:
    await connected(case)
    assert await case.adapter.health(standing(), case.config) == f"{USER}@127.0.0.1/postgres"
    server.ask(f"ALTER ROLE {USER} PASSWORD 'FIXTURE-changed'")
    try:
        with pytest.raises(LoginExpired):
            await case.adapter.health(standing(), case.config)
    finally:
        server.owner.execute(
            psycopg.sql.SQL("ALTER ROLE {} PASSWORD {}").format(
                psycopg.sql.Identifier(USER), PASSWORD
            )
        )
    assert await case.adapter.health(standing(), case.config)


def shell(home: Path, env: Mapping[str, str], *words: str) -> str:
    """What a program says, run with nothing but this environment; its failure, in its words."""
    done = subprocess.run(
        words,
        env={**env, "PATH": os.environ["PATH"], "HOME": str(home)},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert env["PGPASSWORD"] not in done.stdout + done.stderr
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(
            ("psql", "-At", "-c"),
            marks=pytest.mark.skipif(not shutil.which("psql"), reason="no psql here"),
            id="psql",
        ),
        pytest.param(
            (str(CLI), "db", "query", "--db-url", "postgresql:///"), marks=needs_cli, id="supabase"
        ),
    ],
)
async def test_real_programs_with_the_issued_environment_alone(
    case: Case, tmp_path: Path, words: tuple[str, ...]
) -> None:
    await connected(case)
    login = await minted(case, READ)
    env = {**case.provider.quiet, **login.secret["env"]}
    assert "first" in shell(tmp_path, env, *words, "SELECT body FROM notes WHERE id = 1")
    assert "read-only transaction" in shell(tmp_path, env, *words, INSERT)
    if words[0] == "psql":  # The other runs one statement at a time, each in a new session.
        assert "permission denied" in shell(tmp_path, env, *words, LIFTED, "-c", INSERT)
    await ended(case, login)
    assert "authentication failed" in shell(tmp_path, env, *words, "SELECT 1")


@needs_cli
async def test_a_database_target_opens_no_account(case: Case, tmp_path: Path) -> None:
    store = tmp_path / ".supabase"
    store.mkdir()
    (store / "access-token").write_text(f"sbp_{'f' * 40}")
    await connected(case)
    login = await minted(case, READ)
    env = {**case.provider.quiet, **login.secret["env"]}
    assert "Invalid access token" in shell(tmp_path, env, str(CLI), "projects", "list")
