"""The roles of a project's Postgres that credentials log in as, in SQL. Pure.

A session may lift `default_transaction_read_only` by itself, so a reader is held by what it was
never given, not by that setting. `pg_read_all_data` lets it see every table; what could still
change something is what everyone may do: run a function with its owner's rights, or one in a
language that is not held to the caller's rights, and write where PUBLIC may. The database looks
for those in the transaction that makes the reader, and takes the reader back if it finds any.

What is left to a reader is its own and goes with it (temporary tables, large objects, its own
settings), or leaves no data (advisory locks, notifications).
"""

from datetime import datetime

from styx_core.scope import Scope, Scopes

HARMLESS = (
    "pgcrypto", "uuid-ossp", "pg_trgm", "unaccent", "tablefunc", "hypopg", "vector", "postgis",
    "pg_graphql", "pg_jsonschema", "pg_stat_statements",
)  # fmt: skip
"""Extensions whose functions in C keep to the caller's rights, though they are marked volatile."""

_MAKE = """
DO $$ DECLARE
  found text;
BEGIN
  CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '<until>';
  GRANT pg_read_all_data TO "{{name}}";
  BEGIN
    ALTER ROLE "{{name}}" BYPASSRLS;
  EXCEPTION WHEN insufficient_privilege THEN
    NULL;  -- It then sees the rows that row security shows it.
  END;
  <rights>
END $$;
"""

_READ_ONLY = """
  ALTER ROLE "{{name}}" SET default_transaction_read_only = on;"""

_HELD = """
  SELECT string_agg(what, '; ') INTO found FROM (
    SELECT 'function ' || p.oid::regprocedure AS what
      FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
     WHERE p.oid >= 16384 AND has_function_privilege('{{name}}', p.oid, 'EXECUTE')
       AND NOT 'internal'::regtype = ANY (p.proargtypes)
       AND p.prorettype::regtype::text NOT IN
         ('trigger', 'event_trigger', 'language_handler', 'fdw_handler', 'internal')
       AND (p.prosecdef OR NOT l.lanpltrusted AND (
         l.lanname NOT IN ('c', 'internal') OR p.provolatile = 'v' AND NOT EXISTS (
           SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
            WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
              AND d.refclassid = 'pg_extension'::regclass AND e.extname IN (<harmless>))))
    UNION ALL SELECT 'table ' || c.oid::regclass FROM pg_class c
     WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'v', 'f')
       AND (has_table_privilege('{{name}}', c.oid,
              'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
            OR has_any_column_privilege('{{name}}', c.oid, 'INSERT, UPDATE, REFERENCES'))
    UNION ALL SELECT 'sequence ' || c.oid::regclass FROM pg_class c
     WHERE CASE c.relkind WHEN 'S' THEN
             has_sequence_privilege('{{name}}', c.oid, 'USAGE, UPDATE') END
    UNION ALL SELECT 'schema ' || n.nspname FROM pg_namespace n
     WHERE has_schema_privilege('{{name}}', n.oid, 'CREATE')
    UNION ALL SELECT 'database ' || d.datname FROM pg_database d
     WHERE d.datallowconn AND (has_database_privilege('{{name}}', d.oid, 'CREATE')
        OR NOT d.datistemplate AND d.datname <> current_database()
       AND has_database_privilege('{{name}}', d.oid, 'CONNECT'))
    UNION ALL SELECT 'large object ' || m.oid
      FROM pg_largeobject_metadata m, aclexplode(m.lomacl) a
     WHERE a.grantee = 0 AND a.privilege_type = 'UPDATE'
    UNION ALL SELECT 'lo_compat_privileges' WHERE current_setting('lo_compat_privileges')::bool
  ) AS beyond;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'a reader could do more than read, by %', found;
  END IF;""".replace("<harmless>", ", ".join(f"'{name}'" for name in HARMLESS))

_GRANT = """
  SELECT string_agg(c.oid::regclass::text, ', ') INTO found
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
     AND CASE WHEN position(c.relkind::text in '<kinds>') > 0 THEN
           has_<on>_privilege(current_user, c.oid, '<first> WITH GRANT OPTION') END;
  IF found IS NOT NULL THEN
    EXECUTE 'GRANT <what> ON <on> ' || found || ' TO "{{name}}"';
  END IF;"""

_GRANTS = {
    Scope.WRITE: (("rpvf", "INSERT, UPDATE", "TABLE"), ("S", "USAGE", "SEQUENCE")),
    Scope.DELETE: (("rpvf", "DELETE", "TABLE"), ("rp", "TRUNCATE", "TABLE")),
}
"""What each scope adds to reading, where the administrator may grant it. Nothing adds DDL: only an
owner may do that, so a deployment through the database needs the owner's own login."""

_END = """
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{{name}}') THEN RETURN; END IF;
  GRANT "{{name}}" TO CURRENT_USER;
  ALTER ROLE "{{name}}" NOLOGIN;
  REVOKE pg_read_all_data FROM "{{name}}";
  PERFORM pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE usename = '{{name}}';<keep>
  DROP OWNED BY "{{name}}" CASCADE;
  BEGIN
    DROP ROLE "{{name}}";
  EXCEPTION WHEN dependent_objects_still_exist THEN
    NULL;  -- It owns something in another database; without login and rights it stays behind.
  END;
END $$;
"""

_KEEP = """
  REASSIGN OWNED BY "{{name}}" TO CURRENT_USER;"""


def make(scopes: Scopes, until: datetime, *, held: bool) -> str:
    """The statement that makes a role for these scopes. `held`: a reader only if it only reads."""
    writes = sorted(scopes & _GRANTS.keys())
    if writes:
        rights = "".join(_grant(*g) for scope in writes for g in _GRANTS[scope])
    else:
        rights = _READ_ONLY + (_HELD if held else "")
    return _MAKE.replace("<until>", until.isoformat()).replace("<rights>", rights.strip())


def end(scopes: Scopes) -> str:
    """The statement that ends a role and its sessions.

    What a writer made stays, as the administrator's; what a reader made for itself goes.
    """
    return _END.replace("<keep>", _KEEP if scopes & _GRANTS.keys() else "")


def _grant(kinds: str, what: str, on: str) -> str:
    first = what.partition(",")[0]
    filled = {"<kinds>": kinds, "<what>": what, "<on>": on, "<first>": first}
    text = _GRANT
    for mark, value in filled.items():
        text = text.replace(mark, value)
    return text
