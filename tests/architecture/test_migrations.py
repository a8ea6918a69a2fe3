"""Every service's revisions: in one line, safe for old replicas, at one with its models."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import sqlalchemy as sa
from alembic import op
from styx_core.db import writing
from styx_core.migrate.applying import history
from styx_core.testing import migrated

sys.path.insert(0, str(Path(__file__).parents[1]))
from expanding import refusals
from revision import differences, schemas, write

SCHEMAS = schemas()
EVERY = pytest.mark.parametrize("name", SCHEMAS)


def test_these_services_keep_a_database() -> None:
    assert set(SCHEMAS) == {"audit", "broker", "grants"}


@EVERY
def test_revisions_are_one_line_and_named_as_they_say(name: str) -> None:
    schema = SCHEMAS[name]
    script = history(schema)
    assert script.get_heads() == [schema.head]
    found = [*reversed([*script.walk_revisions()])]
    assert [each.revision for each in found] == [*schema.revisions]
    assert [each.down_revision for each in found] == [None, *schema.revisions[:-1]]
    assert all(Path(each.path).name.startswith(f"r{each.revision}_") for each in found)
    assert not any(hasattr(each.module, "downgrade") for each in found), "forward only"


@EVERY
def test_old_replicas_can_live_with_each(name: str) -> None:
    script, schema = history(SCHEMAS[name]), SCHEMAS[name]
    for number, revision in enumerate(schema.revisions):
        module = script.get_revision(revision).module
        assert [*refusals(module, [*schema.revisions[:number]])] == []


@EVERY
def test_models_and_revisions_say_the_same(name: str, tmp_path: Path) -> None:
    engine = writing(migrated(SCHEMAS[name], f"sqlite:///{tmp_path / 'all.db'}"))
    with engine.connect() as connection:
        found = differences(connection, SCHEMAS[name])
    engine.dispose()
    assert found.as_diffs() == [], "run: make revision service=… name=…"
    with pytest.raises(LookupError, match="nothing that its revisions don't"):
        write(SCHEMAS[name], "nothing")


def revision(upgrade: Callable[[], object], **marks: object) -> ModuleType:
    module = ModuleType("made")
    module.__dict__.update({"revision": "0002", "upgrade": upgrade, **marks})
    return module


def text(name: str, **how: object) -> sa.Column[str]:
    return sa.Column(name, sa.String(), **how)  # type: ignore[arg-type]


def both(*_made: object) -> None:
    """Steps in a row."""


EXPANDS: list[Callable[[], object]] = [
    lambda: op.create_table("a", text("id", primary_key=True), sa.UniqueConstraint("id")),
    lambda: op.add_column("t", text("c")),
    lambda: op.add_column("t", text("c", nullable=False, server_default="")),
    lambda: op.create_index("i", "t", ["c"]),
    lambda: both(op.create_table("a", text("id")), op.create_index("i", "a", ["id"], unique=True)),
    lambda: op.alter_column("t", "c", nullable=True),
    lambda: op.execute("UPDATE t SET c = 'x' WHERE c IS NULL"),
]
NARROWS: list[Callable[[], object]] = [
    lambda: op.drop_table("t"),
    lambda: op.drop_column("t", "c"),
    lambda: op.rename_table("t", "u"),
    lambda: op.alter_column("t", "c", new_column_name="d"),
    lambda: op.alter_column("t", "c", nullable=False),
    lambda: op.alter_column("t", "c", type_=sa.Integer()),
    lambda: op.add_column("t", text("c", nullable=False)),
    lambda: op.add_column("t", text("c", unique=True)),
    lambda: op.create_unique_constraint("u", "t", ["c"]),
    lambda: op.create_index("i", "t", ["c"], unique=True),
    lambda: op.execute("DROP TABLE t"),
    lambda: op.execute("UPDATE t SET c = 'x'; DROP TABLE t"),
    lambda: op.execute("DELETE FROM t"),
    lambda: op.execute("CREATE TRIGGER x BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f()"),
]


@pytest.mark.parametrize("upgrade", EXPANDS)
def test_what_adds_is_fine(upgrade: Callable[[], object]) -> None:
    assert [*refusals(revision(upgrade), ["0001"])] == []


@pytest.mark.parametrize("upgrade", NARROWS)
def test_what_takes_away_needs_the_mark_and_what_came_before(
    upgrade: Callable[[], object],
) -> None:
    (said,) = refusals(revision(upgrade), ["0001"])
    assert said.startswith("0002 takes something from old replicas: ")
    assert [*refusals(revision(upgrade, contract=True, expanded_by="0001"), ["0001"])] == []
    (said,) = refusals(revision(upgrade, contract=True, expanded_by="0002"), ["0001"])
    assert said == "0002: `expanded_by` names no earlier revision"
    (said,) = refusals(revision(upgrade, contract=True), ["0001"])
    assert "names no earlier" in said
