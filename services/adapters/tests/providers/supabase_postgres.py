"""A project's Postgres as a target: passwords and TLS as a hosted one asks for, and a little data.

Its administrator is what a Supabase project's own is: no superuser, may create roles, bypasses row
security, owns the tables.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from certificate import self_signed
from psycopg import sql

sys.path.insert(0, str(Path(__file__).parents[4] / "tests" / "integration"))

USER, PASSWORD = "boss", "FIXTURE-boss:/?#[]@%é-password"
SSLMODE = "require"

RULES = (
    "local all all trust",
    "host all {owner} all trust",
    "hostssl all all all scram-sha-256",
)

DATA = """
CREATE TABLE notes (id serial PRIMARY KEY, body text);
INSERT INTO notes (body) VALUES ('first');
CREATE TABLE private (id int, body text);
ALTER TABLE private ENABLE ROW LEVEL SECURITY;
INSERT INTO private VALUES (1, 'FIXTURE-hidden');
CREATE VIEW shown AS SELECT body FROM notes;
CREATE MATERIALIZED VIEW totals AS SELECT count(*) FROM notes;
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id int GENERATED ALWAYS AS IDENTITY, at timestamptz DEFAULT now());
CREATE SEQUENCE numbers;
CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  AS $$ BEGIN RETURN new; END $$;
CREATE FUNCTION add_note() RETURNS void LANGUAGE sql
  AS $$ INSERT INTO notes (body) VALUES ('by a function') $$;
"""
"""Trigger functions can't be called, and a function with its caller's rights adds none."""


@dataclass(frozen=True)
class Postgres:
    """A running server; `owner` is a connection of its superuser."""

    host: str
    port: int
    owner: psycopg.Connection[Any]

    @property
    def config(self) -> dict[str, str]:
        """What a target of it is connected with."""
        return {
            "host": self.host,
            "port": str(self.port),
            "database": "postgres",
            "user": USER,
            "sslmode": SSLMODE,
        }

    def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """What the superuser gets, or nothing."""
        cursor = self.owner.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []

    def roles(self) -> list[str]:
        """The logins that were made for leases."""
        return [name for (name,) in self.ask("SELECT rolname FROM pg_roles WHERE rolname ~ 'lse'")]


@contextmanager
def supabase_postgres() -> Iterator[Postgres]:
    """The server, with its data. Raises `LookupError` where there is none to be had."""
    from postgres_fixture import postgres

    with postgres() as url:
        base = url.replace("+psycopg", "").rpartition("/")[0]
        with psycopg.connect(f"{base}/postgres", autocommit=True) as owner:
            assert owner.info.host
            server = Postgres("127.0.0.1", owner.info.port, owner)
            _harden(server)
            _fill(server)
            yield server


def _harden(server: Postgres) -> None:
    """TLS, and passwords for everyone but the superuser."""
    (((folder,),), ((rules,),)) = server.ask("SHOW data_directory"), server.ask("SHOW hba_file")
    certificate, key = self_signed("127.0.0.1")
    _put(server, f"{folder}/server.crt", certificate.splitlines())
    _put(server, f"{folder}/server.key", key.splitlines())
    _put(server, rules, [rule.format(owner=server.owner.info.user) for rule in RULES])
    server.ask("ALTER SYSTEM SET ssl = on")
    server.ask("SELECT pg_reload_conf()")


def _put(server: Postgres, path: str, lines: Sequence[str]) -> None:
    """A file of the server's machine, as only a superuser may write one."""
    server.ask("CREATE TEMP TABLE lines (line text)")
    for line in lines:
        server.ask("INSERT INTO lines VALUES (%s)", line)
    write = f"umask 077; rm -f {path}; cat > {path}"
    server.owner.execute(sql.SQL("COPY lines TO PROGRAM {}").format(write))
    server.ask("DROP TABLE lines")


def _fill(server: Postgres) -> None:
    for (name,) in server.ask(
        "SELECT datname FROM pg_database WHERE NOT datistemplate AND datname <> 'postgres'"
    ):
        server.ask(f'REVOKE CONNECT ON DATABASE "{name}" FROM PUBLIC')
    server.owner.execute(
        sql.SQL("CREATE ROLE {} LOGIN CREATEROLE BYPASSRLS PASSWORD {}").format(
            sql.Identifier(USER), PASSWORD
        )
    )
    server.ask(f"GRANT pg_read_all_data TO {USER} WITH ADMIN OPTION")
    server.ask(f"GRANT ALL ON SCHEMA public TO {USER}")
    server.ask(f"GRANT CREATE ON DATABASE postgres TO {USER}")
    server.ask(f"SET ROLE {USER}")
    server.ask(DATA)
    server.ask("RESET ROLE")


def opened(env: Mapping[str, str]) -> psycopg.Connection[Any]:
    """A session with nothing but an issued environment."""
    return psycopg.connect(
        host=env["PGHOST"],
        port=int(env["PGPORT"]),
        dbname=env["PGDATABASE"],
        user=env["PGUSER"],
        password=env["PGPASSWORD"],
        sslmode=env["PGSSLMODE"],
        autocommit=True,
    )


def run(env: Mapping[str, str], *statements: str) -> str:
    """`ok`, or the SQLSTATE of the first statement that is refused; `login` if the login is."""
    try:
        connection = opened(env)
    except psycopg.OperationalError:
        return "login"
    with connection:
        try:
            for statement in statements:
                connection.execute(statement.encode())
        except psycopg.Error as error:
            return error.sqlstate or type(error).__name__
    return "ok"
