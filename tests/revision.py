"""`python -m tests.revision <service> <name>`: the next revision, from what the models say now.

It writes what differs between the models and all revisions so far; read it before committing. What
old replicas can't live with is refused by `tests/architecture/test_migrations.py`.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from alembic.autogenerate import produce_migrations, render_python_code
from alembic.runtime.migration import MigrationContext
from sqlalchemy import DateTime
from sqlmodel.sql.sqltypes import AutoString
from styx_cli.stack import services
from styx_core.db import writing
from styx_core.migrate.running import migrate
from styx_core.schema import OWN, Schema

TEMPLATE = '''"""{title}."""

import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = {before}


def upgrade() -> None:
    """Apply it."""
    {body}
'''


def schemas() -> dict[str, Schema]:
    """Every service's that keeps a database, by the service's name."""
    return {n: s.schema for n, s in services().items() if s.schema is not None}


def differences(connection: Any, schema: Schema) -> Any:
    """What would make the database the models', as Alembic's operations."""
    options = {
        "compare_type": True,
        "compare_server_default": True,
        "include_name": lambda name, kind, _parents: kind != "table" or name not in OWN,
    }
    context = MigrationContext.configure(connection, opts=options)
    return produce_migrations(context, schema.metadata).upgrade_ops


def write(schema: Schema, name: str) -> Path:
    """Write the next revision. Raises `LookupError` if nothing differs."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/now.db"
        if schema.revisions:
            migrate(schema, url)
        engine = writing(url)
        with engine.connect() as connection:
            found = differences(connection, schema)
        engine.dispose()
    if found.is_empty():
        raise LookupError(f"{schema.service}: the models say nothing that its revisions don't")
    last = schema.revisions[-1] if schema.revisions else None
    number = f"{int(last or 0) + 1:04d}"
    body = render_python_code(found, render_as_batch=True, render_item=_plain_type)
    title = name.replace("_", " ").capitalize()
    text = TEMPLATE.format(title=title, number=number, before=repr(last), body=body)
    path = schema.folder / f"r{number}_{name}.py"
    path.write_text("\n".join(line for line in text.split("\n") if "# ###" not in line))
    subprocess.run([Path(sys.executable).parent / "ruff", "format", "-q", path], check=True)
    return path


def _plain_type(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """SQLAlchemy's own types, so that a revision stays what it is whatever SQLModel does."""
    if kind == "type" and isinstance(item, AutoString):
        return "sa.String()"
    if kind == "type" and isinstance(getattr(item, "impl", None), DateTime):
        return "sa.DateTime(timezone=True)"
    return False


def main(service: str = "", name: str = "") -> None:
    """Write it, or say what is wrong with the words."""
    known = schemas()
    if service not in known or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        sys.exit(f"make revision service=<{'|'.join(sorted(known))}> name=<words_like_this>")
    try:
        print(write(known[service], name))
    except LookupError as nothing:
        sys.exit(str(nothing))


if __name__ == "__main__":
    main(*sys.argv[1:3])
