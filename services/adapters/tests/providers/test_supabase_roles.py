"""The roles that a project's Postgres gives: what each can do, can't, and that it ends."""

import asyncio

import psycopg
import pytest
from conformance import Case
from styx_core.errors import Invalid
from styx_core.scope import Scope
from supabase_postgres import USER, Postgres, opened, run
from supabase_target import (
    DEFINER,
    DELETE,
    DENIED,
    DEPLOY,
    INSERT,
    LIFTED,
    READ,
    READ_ONLY,
    WRITE,
    connected,
    ended,
    minted,
)
from supabase_target import case as case
from supabase_target import server as server
from supabase_target import silent as silent
from vault_fixture import vault as vault

pytestmark = pytest.mark.asyncio(loop_scope="module")

ATTACKS = [
    INSERT,
    "INSERT INTO shown VALUES ('x')",
    "UPDATE notes SET body = 'x'",
    "DELETE FROM notes",
    "TRUNCATE notes",
    "MERGE INTO notes n USING notes m ON n.id = m.id WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM notes RETURNING *) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM notes",
    "DO $$ BEGIN DELETE FROM notes; END $$",
    "PREPARE p AS DELETE FROM notes; EXECUTE p",
    "SELECT * FROM notes FOR UPDATE",
    "BEGIN; LOCK TABLE notes IN EXCLUSIVE MODE",
    "SELECT add_note()",
    "SELECT nextval('numbers')",
    "SELECT nextval('notes_id_seq')",
    "SELECT setval('numbers', 100)",
    "COPY notes FROM PROGRAM 'echo 9'",
    "COPY notes TO PROGRAM 'cat'",
    "COPY notes TO '/tmp/notes.copy'",
    "COPY notes FROM '/etc/hostname'",
    "SELECT pg_read_file('/etc/hostname')",
    "SELECT lo_export(1, '/tmp/object')",
    "SELECT lo_import('/etc/hostname')",
    "CREATE TABLE mine (id int)",
    "CREATE TABLE shop.mine (id int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE EXTENSION pgcrypto",
    "CREATE EVENT TRIGGER t ON ddl_command_start EXECUTE FUNCTION touch()",
    "CREATE TRIGGER t BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION touch()",
    "CREATE RULE r AS ON INSERT TO notes DO ALSO NOTHING",
    "CREATE ROLE mine LOGIN",
    "CREATE DATABASE mine",
    "ALTER TABLE notes ADD COLUMN mine int",
    "ALTER SYSTEM SET work_mem = '8MB'",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "ALTER ROLE CURRENT_USER VALID UNTIL 'infinity'",
    f"ALTER ROLE {USER} PASSWORD 'FIXTURE-mine'",
    f"GRANT {USER} TO CURRENT_USER",
    "GRANT pg_write_all_data TO CURRENT_USER",
    f"SET ROLE {USER}",
    f"SET SESSION AUTHORIZATION {USER}",
    "DROP TABLE notes",
    "COMMENT ON TABLE notes IS 'x'",
    "REFRESH MATERIALIZED VIEW totals",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user",
    "SELECT pg_switch_wal()",
    "SELECT pg_create_restore_point('x')",
    "SELECT pg_create_physical_replication_slot('x')",
]


async def test_a_reader_reads_everything_and_writes_nothing(case: Case, server: Postgres) -> None:
    await connected(case)
    login = await minted(case, READ)
    env = login.secret["env"]
    before = server.ask("SELECT * FROM notes"), server.ask("SELECT last_value FROM numbers")
    assert login.scoped
    assert run(env, "SELECT * FROM notes", "SELECT * FROM shop.orders") == "ok"
    assert run(env, INSERT) == READ_ONLY
    answers = {attack: run(env, LIFTED, attack) for attack in ATTACKS}
    assert {a: told for a, told in answers.items() if told != DENIED} == {}
    assert run(env, LIFTED, "SELECT touch()") == "0A000"
    after = server.ask("SELECT * FROM notes"), server.ask("SELECT last_value FROM numbers")
    assert before == after
    await ended(case, login)


@pytest.mark.parametrize("attribute", ["SUPERUSER", "NOSUPERUSER"])
async def test_a_reader_passes_row_security_where_its_maker_may_let_it(
    case: Case, server: Postgres, attribute: str
) -> None:
    server.ask(f"ALTER ROLE {USER} {attribute}")
    try:
        await connected(case)
        login = await minted(case, READ)
    finally:
        server.ask(f"ALTER ROLE {USER} NOSUPERUSER")
    # PostgreSQL 16 lets a maker hand on what it has itself; before, only a superuser could.
    may = attribute == "SUPERUSER" or server.owner.info.server_version >= 160000
    with opened(login.secret["env"]) as session:
        seen = session.execute("SELECT body FROM private").fetchall()
    assert seen == ([("FIXTURE-hidden",)] if may else [])
    assert run(login.secret["env"], LIFTED, INSERT) == DENIED


DOORS = [
    (DEFINER, "DROP FUNCTION definer"),
    ("CREATE EXTENSION dblink", "DROP EXTENSION dblink"),
    ("GRANT INSERT ON notes TO PUBLIC", "REVOKE ALL ON notes FROM PUBLIC"),
    ("GRANT UPDATE (body) ON notes TO PUBLIC", "REVOKE ALL (body) ON notes FROM PUBLIC"),
    ("GRANT DELETE ON shown TO PUBLIC", "REVOKE ALL ON shown FROM PUBLIC"),
    ("GRANT USAGE ON SEQUENCE numbers TO PUBLIC", "REVOKE ALL ON SEQUENCE numbers FROM PUBLIC"),
    ("GRANT CREATE ON SCHEMA shop TO PUBLIC", "REVOKE ALL ON SCHEMA shop FROM PUBLIC"),
    ("GRANT CREATE ON DATABASE postgres TO PUBLIC",
     "REVOKE CREATE ON DATABASE postgres FROM PUBLIC"),
    ("CREATE DATABASE other", "DROP DATABASE other"),
    ("SELECT lo_create(4711); GRANT UPDATE ON LARGE OBJECT 4711 TO PUBLIC",
     "SELECT lo_unlink(4711)"),
]  # fmt: skip


@pytest.mark.parametrize(("door", "shut"), DOORS, ids=lambda words: words[:30])
async def test_a_reader_that_could_do_more_is_not_made(
    case: Case, server: Postgres, door: str, shut: str
) -> None:
    await connected(case)
    server.ask(door)
    try:
        with pytest.raises(Invalid, match="database-loose"):
            await minted(case, READ)
        with pytest.raises(Invalid, match="^method: "):
            await connected(case)
        assert not (await minted(case, WRITE)).scoped, "nothing else is held back by it"
    finally:
        server.ask(shut)
    assert (await minted(case, READ)).scoped


@pytest.mark.parametrize("name", ["pgcrypto", "pg_trgm", "hstore"])
async def test_a_harmless_extension_bars_no_reader(case: Case, server: Postgres, name: str) -> None:
    await connected(case)
    server.ask(f"CREATE EXTENSION {name}")
    try:
        assert (await minted(case, READ)).scoped
    finally:
        server.ask(f"DROP EXTENSION {name}")


async def test_a_loose_target_reads_anyway_and_calls_nothing_scoped(
    case: Case, server: Postgres
) -> None:
    server.ask(DEFINER)
    try:
        await connected(case, "database-loose")
        login = await minted(case, READ, method="database-loose")
        assert not login.scoped
        kept = server.ask("SELECT * FROM notes")
        assert run(login.secret["env"], LIFTED, "DELETE FROM notes") == DENIED
        assert run(login.secret["env"], LIFTED, "BEGIN", "SELECT definer()", "ROLLBACK") == "ok"
        assert server.ask("SELECT * FROM notes") == kept
    finally:
        server.ask("DROP FUNCTION definer")


UPDATE = "UPDATE notes SET body = body WHERE id = 1"
REMOVE = "DELETE FROM notes WHERE body = 'nothing has this'"
EMPTY = ("BEGIN", "TRUNCATE notes", "ROLLBACK")
DDL = "CREATE TABLE mine (id int)"


@pytest.mark.parametrize(
    ("scopes", "may"),
    [({WRITE}, "iu"), ({DELETE}, "dt"), ({WRITE, DELETE}, "iudt"), ({DEPLOY}, ""), (set(), ""),
     ({READ, WRITE, DEPLOY}, "iu"), (set(Scope), "iudt")],
    ids=str,
)  # fmt: skip
async def test_each_scope_adds_its_own(case: Case, scopes: set[Scope], may: str) -> None:
    await connected(case)
    login = await minted(case, *scopes)
    env = login.secret["env"]
    assert not login.scoped
    assert run(env, "SELECT * FROM notes", "SELECT * FROM shop.orders") == "ok"
    begin = LIFTED if not may else "SELECT 1"
    for letter, words in {"i": [INSERT], "u": [UPDATE], "d": [REMOVE], "t": EMPTY}.items():
        assert run(env, begin, *words) == ("ok" if letter in may else DENIED), words
    assert run(env, begin, DDL) == DENIED, "no scope adds DDL"
    assert run(env, begin, "DROP TABLE notes") == DENIED


async def test_a_revoke_ends_open_sessions_and_new_logins(case: Case, server: Postgres) -> None:
    await connected(case)
    gone, other = await minted(case, READ), await minted(case, READ)
    with opened(gone.secret["env"]) as session, opened(other.secret["env"]) as second:
        session.execute("BEGIN READ WRITE; CREATE TEMP TABLE held AS SELECT * FROM notes")
        assert await ended(case, gone) == "hard"
        with pytest.raises(psycopg.OperationalError):
            session.execute("SELECT 1")
        second.execute("SELECT * FROM notes")
    assert run(gone.secret["env"], "SELECT 1") == "login"
    assert run(other.secret["env"], "SELECT 1") == "ok", "another grant's login lives on"
    assert gone.secret["env"]["PGUSER"] not in server.roles()
    assert await ended(case, gone) == "hard", "ended twice is ended"
    await ended(case, other)


async def test_what_a_reader_made_for_itself_goes_with_it(case: Case, server: Postgres) -> None:
    await connected(case)
    for scope, kept in ((READ, 0), (WRITE, 1)):
        login = await minted(case, scope)
        assert run(login.secret["env"], LIFTED, "SELECT lo_from_bytea(0, 'mine')") == "ok"
        assert await ended(case, login) == "hard"
        assert login.secret["env"]["PGUSER"] not in server.roles()
        found = server.ask("SELECT lo_unlink(oid) FROM pg_largeobject_metadata")
        assert len(found) == kept, "what a writer made is the administrator's then"


async def test_a_login_that_left_something_elsewhere_is_locked(
    case: Case, server: Postgres
) -> None:
    await connected(case)
    login = await minted(case, READ)
    env = login.secret["env"]
    elsewhere = {**env, "PGDATABASE": "template1"}
    assert run(elsewhere, LIFTED, "SELECT lo_from_bytea(0, 'mine')") == "ok"
    assert await ended(case, login) == "hard"
    assert (run(env), run(elsewhere)) == ("login", "login")
    (locked,) = server.ask(
        "SELECT rolcanlogin, pg_has_role(oid, 'pg_read_all_data', 'MEMBER') FROM pg_roles"
        " WHERE rolname = %s",
        env["PGUSER"],
    )
    assert locked == (False, False)
    with psycopg.connect(server.owner.info.dsn, dbname="template1", autocommit=True) as there:
        there.execute(f'DROP OWNED BY "{env["PGUSER"]}"'.encode())
    server.ask(f'DROP ROLE "{env["PGUSER"]}"')


async def test_a_login_ends_by_itself(case: Case, server: Postgres) -> None:
    await connected(case)
    login = await minted(case, READ, seconds=1.5)
    assert run(login.secret["env"], "SELECT 1") == "ok"
    async with asyncio.timeout(20):
        while login.secret["env"]["PGUSER"] in server.roles():
            await asyncio.sleep(0.05)
    assert run(login.secret["env"], "SELECT 1") == "login"


async def test_logins_made_side_by_side_are_made(case: Case) -> None:
    await connected(case)
    logins = await asyncio.gather(*(minted(case, WRITE, DELETE) for _ in range(4)))
    assert {run(login.secret["env"], INSERT, REMOVE) for login in logins} == {"ok"}
    assert await asyncio.gather(*(ended(case, login) for login in logins)) == ["hard"] * 4
