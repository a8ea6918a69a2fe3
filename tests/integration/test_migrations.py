"""Revisions on real servers: PostgreSQL, a service alone that waits for them, `styx up`."""

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from parts_fixture import Service, made, nats_users
from sqlalchemy import text
from stack_fixture import styx, until
from styx_cli.engines.run import Engines, prepare, running_engines
from styx_core.db import writing
from styx_core.migrate.running import migrate
from styx_grants.models import SCHEMA as GRANTS

sys.path.insert(0, str(Path(__file__).parents[1]))
from revision import differences, schemas

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

SCHEMAS = schemas()


@pytest.mark.parametrize("name", SCHEMAS)
async def test_on_postgresql_models_and_revisions_say_the_same(
    name: str, database_url: str
) -> None:
    assert migrate(SCHEMAS[name], database_url).applied == SCHEMAS[name].revisions
    engine = writing(database_url)
    with engine.connect() as connection:
        assert differences(connection, SCHEMAS[name]).as_diffs() == []
    engine.dispose()


async def job(*words: str, **variables: str) -> tuple[int, str, str]:
    """`python -m styx_core.migrate`, as a team runs it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "styx_core.migrate", *words),
        env={k: v for k, v in os.environ.items() if not k.startswith("STYX_")} | variables,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def test_two_jobs_at_once_do_no_harm(database_url: str) -> None:
    run = [job("--json", "audit", STYX_DATABASE_URL=database_url) for _ in range(2)]
    ended = await asyncio.gather(*run)
    assert [code for code, _, _ in ended] == [0, 0], ended
    done = [json.loads(out)[0] for _, out, _ in ended]
    assert sorted(len(each["applied"]) for each in done) == [0, len(SCHEMAS["audit"].revisions)]
    assert {each["after"] for each in done} == {SCHEMAS["audit"].head}


async def test_tables_without_a_revision_are_not_guessed_at(database_url: str) -> None:
    engine = writing(database_url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE person (name TEXT)"))
    engine.dispose()
    code, out, err = await job("broker", STYX_DATABASE_URL_BROKER=database_url)
    assert (code, out) == (1, "")
    assert "the broker database has tables and no revision" in err


async def test_the_job_says_what_it_did_and_what_it_lacks(tmp_path: Path) -> None:
    urls = {f"STYX_DATABASE_URL_{n.upper()}": f"sqlite:///{tmp_path}/{n}.db" for n in SCHEMAS}
    code, out, _ = await job(**urls)
    assert (code, out.splitlines()) == (
        0,
        [f"{name}: no revision → {schema.head}" for name, schema in sorted(SCHEMAS.items())],
    )
    code, out, _ = await job(**urls)
    assert (code, out.count("nothing to do")) == (0, len(SCHEMAS))
    del urls["STYX_DATABASE_URL_GRANTS"]
    code, _, err = await job(**urls)
    assert (code, err) == (1, "styx: STYX_DATABASE_URL_GRANTS isn't set: where that database is\n")
    code, _, err = await job("gateway")
    assert code == 2
    assert "no service 'gateway' that keeps a database" in err
    away = "postgresql+psycopg://me:FIXTURE-pw@127.0.0.1:1/none"
    code, _, err = await job("grants", STYX_DATABASE_URL=away)
    assert (code, "nothing was changed" in err, "FIXTURE" in err) == (1, True, False)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engines(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engines]:
    data = tmp_path_factory.mktemp("data")
    async with running_engines(data, nats_users(prepare(data))) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="module")
async def grants(engines: Engines, tmp_path: Path) -> AsyncIterator[Service]:
    """`grants` alone on a database that nobody has migrated."""
    service = made(tmp_path, engines, "grants")
    service.log.parent.mkdir(exist_ok=True)
    yield service
    await service.end()


def at(service: Service, revision: str, floor: str) -> None:
    """Make its database one that newer code has migrated."""
    path = service.env["STYX_DATABASE_URL"].removeprefix("sqlite:///")
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        c.execute("UPDATE styx_schema SET floor = ?", (floor,))


async def launched(service: Service) -> asyncio.subprocess.Process:
    with service.log.open("ab") as log:
        service.process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "styx_grants"), env=service.env, stdout=log, stderr=log
        )
    return service.process


async def waiting(service: Service) -> dict[str, Any] | None:
    """What it says of itself while it isn't ready."""
    with contextlib.suppress(httpx.HTTPError):
        async with httpx.AsyncClient() as http:
            reply = await http.get(f"{service.url}/readyz")
            return reply.json() if reply.status_code == 503 else None
    return None


async def test_a_service_alone_waits_for_the_job_and_makes_no_tables(grants: Service) -> None:
    await launched(grants)
    said = await until(lambda: waiting(grants))
    assert said["parts"] == {"bus": True, "schema": False}
    url = grants.env["STYX_DATABASE_URL"]
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as c:
        assert c.execute("SELECT * FROM sqlite_master").fetchall() == []
    assert migrate(GRANTS, url).applied == GRANTS.revisions
    await until(grants.ready)


async def test_it_does_not_wait_for_ever(grants: Service) -> None:
    grants.env["STYX_SCHEMA_SECONDS"] = "0.1"
    assert await (await launched(grants)).wait() == 1
    said = grants.log.read_text().splitlines()[-1]
    assert said.startswith("styx: the grants database is older than this code, which needs")
    assert said.endswith("run `python -m styx_core.migrate grants`")


async def test_a_newer_database_is_refused_unless_it_was_only_expanded(grants: Service) -> None:
    migrate(GRANTS, grants.env["STYX_DATABASE_URL"])
    at(grants, "9000", "8000")
    assert await (await launched(grants)).wait() == 1
    said = grants.log.read_text().splitlines()[-1]
    assert "the grants database is at revision 9000" in said
    assert f"this code's {GRANTS.head}" in said
    at(grants, "9000", "0001")
    await grants.start()


async def test_an_embedded_stack_migrates_its_folder_and_refuses_a_newer_one(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"

    def change(script: str) -> None:
        for name in SCHEMAS:
            with closing(sqlite3.connect(data / "db" / f"{name}.db")) as c:
                c.executescript(script)

    async def started() -> str:
        up = await styx(data, "up", "--detach")
        assert up.code == 0, up.err
        assert (await styx(data, "down")).code == 0
        return up.out

    assert "→" not in await started()
    change("DROP TABLE alembic_version; DROP TABLE styx_schema;")
    assert "grants: no revision → " in await started()
    assert "grants" not in await started()
    assert not [*(data / "db").glob("*.at-*")]
    change("UPDATE alembic_version SET version_num = '9000'")
    refused = await styx(data, "up", "--detach")
    assert refused.code == 69
    assert "database is at revision 9000, which is newer than this code's" in refused.err
