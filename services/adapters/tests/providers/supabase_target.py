"""A project's Postgres as a target of a real OpenBao, for the tests about it."""

import socket
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from conformance import Case, now
from styx_adapters import postgres_probe
from styx_adapters.adapter import Deps, Minted, Want
from styx_adapters.providers import supabase
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import Vault
from supabase_postgres import PASSWORD, Postgres, supabase_postgres

TARGET = new_id("tgt")
READ, WRITE, DEPLOY, DELETE = Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE
DENIED, READ_ONLY = "42501", "25006"
LIFTED = "SET default_transaction_read_only = off"
INSERT = "INSERT INTO notes (body) VALUES ('x')"
DEFINER = """CREATE FUNCTION definer() RETURNS void LANGUAGE sql SECURITY DEFINER
             AS 'DELETE FROM public.notes'"""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """The project's Postgres."""
    try:
        with supabase_postgres() as made:
            yield made
    except LookupError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """A port that takes a call and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield str(listening.getsockname()[1])


@pytest_asyncio.fixture(loop_scope="module")
async def case(
    vault: Vault, server: Postgres, silent: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Case]:
    """The project's Postgres as a target, held to reading where that is asked for."""
    monkeypatch.setattr(postgres_probe, "SECONDS", 0.5)
    yield Case(
        provider=supabase.PROVIDER,
        adapter=supabase.adapter(Deps(vault, now)),
        method="database",
        config={**server.config, "ref": "abcdefghijklmnopqrst"},
        secret={"password": PASSWORD},
        want=wanted(READ),
        shortest=timedelta(seconds=1),
        refused={"config": {"user": "nobody"}},
        silent={"port": silent},
        unkept=("password",),
    )


def wanted(*scopes: Scope, seconds: float = 3600) -> Want:
    """A use of a grant."""
    until = now() + timedelta(seconds=seconds)
    return Want(new_id("lse"), new_id("gnt"), frozenset(scopes), until)


def standing(method: str = "database") -> dict[str, str]:
    """What Vault holds of the target."""
    return {"connection": f"adapters-{TARGET}", "method": method}


async def connected(case: Case, method: str = "database") -> None:
    """The target, connected."""
    await case.adapter.connect(method, TARGET, case.config, case.secret)


async def minted(case: Case, *scopes: Scope, method: str = "database", **more: Any) -> Minted:
    """A login for these."""
    return await case.adapter.issue(standing(method), case.config, wanted(*scopes, **more))


async def ended(case: Case, login: Minted) -> str:
    """What revoking it could do."""
    return (await case.adapter.revoke(standing(), case.config, login.handle)).outcome
