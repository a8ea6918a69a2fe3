"""What a revision may do while old replicas still run: it adds, and takes nothing away.

A revision is read as the SQL that PostgreSQL would get, so that nothing passes in a raw statement.
Each statement must be of a kind that is known to leave old code alone; any other is refused unless
the revision is marked `contract = True`, with `expanded_by`: the earlier revision since whose code
nobody needs what is taken away.
"""

import io
import re
from collections.abc import Iterator
from types import ModuleType

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

TABLE = re.compile(r'CREATE TABLE (?:IF NOT EXISTS )?"?(\w+)"?')
ON = re.compile(r'(?:CREATE UNIQUE INDEX \S+ ON|ALTER TABLE|CREATE TRIGGER .*? ON) "?(\w+)"?')
ADD = r"ALTER TABLE \S+ ADD COLUMN (?!.*\b(UNIQUE|CHECK|REFERENCES|PRIMARY)\b)"
EXPANDING = [
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        r"CREATE TABLE\b.*",
        r"CREATE INDEX\b.*",
        r"CREATE (OR REPLACE )?FUNCTION\b.*",
        rf"{ADD}(?!.*\bNOT NULL\b).*",
        rf"{ADD}(?=.*\bDEFAULT\b).*",
        r"ALTER TABLE \S+ ALTER COLUMN \S+ (DROP NOT NULL|SET DEFAULT\b.*)",
        r"(INSERT INTO|UPDATE|COMMENT ON)\b.*",
    )
]


def statements(module: ModuleType) -> list[str]:
    """What PostgreSQL would be told."""
    text = io.StringIO()
    options = {"as_sql": True, "output_buffer": text}
    context = MigrationContext.configure(dialect_name="postgresql", opts=options)
    with Operations.context(context):
        module.upgrade()
    bodies = re.sub(r"\$\$.*?\$\$", "$$", text.getvalue(), flags=re.DOTALL)
    return [one.strip() for one in bodies.split(";") if one.strip()]


def narrowing(module: ModuleType) -> Iterator[str]:
    """The statements that old code may not live with."""
    made: set[str] = set()
    for statement in statements(module):
        if created := TABLE.match(statement):
            made.add(created[1])
        new = (on := ON.match(statement)) is not None and on[1] in made
        if not new and not any(kind.fullmatch(statement) for kind in EXPANDING):
            yield statement


def refusals(module: ModuleType, earlier: list[str]) -> Iterator[str]:
    """What is wrong with a revision, after these."""
    if getattr(module, "contract", False):
        if getattr(module, "expanded_by", None) not in earlier:
            yield f"{module.revision}: `expanded_by` names no earlier revision"
        return
    for statement in narrowing(module):
        yield f"{module.revision} takes something from old replicas: {statement}"
