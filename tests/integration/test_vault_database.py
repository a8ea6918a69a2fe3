"""OpenBao's database engine with a real PostgreSQL: logins come and go with their leases."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio
from styx_cli.engines.run import Engines, running_engines
from styx_core import keyring, vault_bootstrap, vault_database
from styx_core.ids import new_id
from styx_core.vault import Vault, VaultDenied, VaultError, VaultRefused

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PASSWORD = "FIXTURE-maker-password"
MAKE = """CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}'"""
END = """DROP ROLE "{{name}}" """
MINUTE = timedelta(minutes=1)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data) as running:
        yield running


def signed_in(engines: Engines) -> Vault:
    """The adapters' own way into it."""
    secret = keyring.secret_id(engines.root, "adapters")
    return Vault(engines.bao_url, vault_bootstrap.role_id("adapters"), secret)


@pytest_asyncio.fixture(loop_scope="module")
async def vault(engines: Engines) -> AsyncIterator[Vault]:
    made = signed_in(engines)
    yield made
    await made.close()


class Database:
    """A server, and who may make logins there."""

    def __init__(self, server: str) -> None:
        plain = server.replace("+psycopg", "")
        self.owner = psycopg.connect(plain, autocommit=True)
        self.maker = f"maker_{new_id('usr')}"
        self.owner.execute(
            psycopg.sql.SQL("CREATE ROLE {} LOGIN CREATEROLE PASSWORD {}").format(
                psycopg.sql.Identifier(self.maker), PASSWORD
            )
        )
        place = urlsplit(plain)
        self.url = (
            f"postgresql://{{{{username}}}}:{{{{password}}}}@{place.hostname}:{place.port}"
            f"{place.path}?sslmode=disable&connect_timeout=3"
        )

    def has(self, user: str) -> bool:
        """Whether the role is there."""
        found = self.owner.execute("SELECT FROM pg_roles WHERE rolname = %s", (user,))
        return found.rowcount == 1


@pytest.fixture
def database(database_server: str) -> Database:
    """The server, with a maker of its own."""
    return Database(database_server)


async def connected(vault: Vault, database: Database) -> str:
    """The name of a connection to it."""
    name = f"adapters-{new_id('tgt')}"
    await vault_database.connect(vault, name, database.url, database.maker, PASSWORD)
    return name


async def minted(vault: Vault, connection: str, life: timedelta = MINUTE) -> vault_database.Login:
    """A login of a role named after a lease."""
    name = f"adapters-{new_id('lse')}"
    return await vault_database.mint(vault, connection, name, life, [MAKE], [END])


async def test_a_login_lives_as_long_as_its_lease(vault: Vault, database: Database) -> None:
    connection = await connected(vault, database)
    first, second = await asyncio.gather(*(minted(vault, connection) for _ in range(2)))
    assert first.user != second.user
    assert database.has(first.user)
    assert first.password not in repr(first)
    await vault_database.end(vault, first.lease)
    assert not database.has(first.user)
    assert database.has(second.user)
    await vault_database.end(vault, first.lease)
    await vault_database.end(vault, second.lease)


async def test_a_lease_ends_by_itself(vault: Vault, database: Database) -> None:
    login = await minted(vault, await connected(vault, database), timedelta(seconds=1))
    async with asyncio.timeout(20):
        while database.has(login.user):
            await asyncio.sleep(0.05)


async def test_a_lease_ends_with_the_token_that_asked_for_it(
    engines: Engines, database: Database
) -> None:
    brief = signed_in(engines)
    login = await minted(brief, await connected(brief, database))
    assert database.has(login.user)
    await brief.close()
    async with asyncio.timeout(20):
        while database.has(login.user):
            await asyncio.sleep(0.05)


async def test_no_lease_is_longer_than_a_token_surely_lives(
    vault: Vault, database: Database
) -> None:
    assert vault_database.LONGEST.total_seconds() < vault_bootstrap.TOKEN_TTL / 3
    name = f"adapters-{new_id('lse')}"
    until = """CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'"""
    login = await vault_database.mint(
        vault, await connected(vault, database), name, timedelta(days=1), [until], [END]
    )
    left = database.owner.execute(
        "SELECT rolvaliduntil - now() FROM pg_roles WHERE rolname = %s", (login.user,)
    ).fetchone()
    assert left is not None
    assert left[0] < vault_database.LONGEST + timedelta(seconds=10)
    await vault_database.end(vault, login.lease)


async def test_nothing_is_left_of_what_was_not_made(vault: Vault, database: Database) -> None:
    connection = await connected(vault, database)
    name = f"adapters-{new_id('lse')}"
    fails = "DO $$ BEGIN RAISE EXCEPTION 'no'; END $$"
    with pytest.raises(vault_database.NotMade):
        await vault_database.mint(vault, connection, name, MINUTE, [MAKE, fails], [END])
    found = database.owner.execute("SELECT FROM pg_roles WHERE rolname LIKE %s", (f"{name}%",))
    assert found.rowcount == 0
    with pytest.raises(VaultError):
        await vault.get(f"database/roles/{name}")


async def test_the_engines_own_role_is_gone_once_it_served(
    vault: Vault, database: Database
) -> None:
    login = await minted(vault, await connected(vault, database))
    role = login.lease.split("/")[2]
    with pytest.raises(VaultError):
        await vault.get(f"database/roles/{role}")
    await vault_database.end(vault, login.lease)
    assert not database.has(login.user)


async def test_the_password_stays_inside(vault: Vault, database: Database) -> None:
    connection = await connected(vault, database)
    assert PASSWORD not in str(await vault.get(f"database/config/{connection}"))
    await vault_database.connect(vault, connection, database.url, database.maker, None)
    await vault_database.end(vault, (await minted(vault, connection)).lease)
    await vault_database.forget(vault, connection)
    with pytest.raises(VaultError):
        await minted(vault, connection)


async def test_what_does_not_connect_is_refused_and_not_kept(
    vault: Vault, database: Database
) -> None:
    name = f"adapters-{new_id('tgt')}"
    nowhere = database.url.partition("@")[0] + "@127.0.0.1:1/x"
    with pytest.raises(VaultRefused) as told:
        await vault_database.connect(vault, name, nowhere, database.maker, PASSWORD)
    assert "FIXTURE" not in str(told.value)
    with pytest.raises(VaultError):
        await vault.get(f"database/config/{name}")


async def test_names_of_others_are_out_of_reach(vault: Vault, database: Database) -> None:
    with pytest.raises(VaultDenied):
        await vault_database.connect(vault, "other", database.url, database.maker, PASSWORD)
    with pytest.raises(VaultDenied):
        await vault.leased("database/creds/other")
    with pytest.raises(VaultDenied):
        await vault_database.end(vault, "database/creds/other/x")
