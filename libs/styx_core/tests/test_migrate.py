"""Migrations of SQLite files: whole or not at all, and nothing is lost on the way."""

import threading
from pathlib import Path

import pytest
from migrations_fixture import COLOUR, FIRST, Package, about, rows, run
from styx_core.migrate.running import Done, migrate
from styx_core.schema import Stand, WrongSchema, found

PET = "INSERT INTO pet VALUES ('1', 4, 'Rex');"


@pytest.fixture
def package(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Package:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Package(tmp_path, f"zoo_{abs(hash(request.node.nodeid))}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "zoo.db"


@pytest.fixture
def url(path: Path) -> str:
    return f"sqlite:///{path}"


def test_an_empty_database_gets_everything_and_no_copy(
    package: Package, path: Path, url: str
) -> None:
    package.add(FIRST)
    schema = package.add(COLOUR)
    assert migrate(schema, url) == Done("zoo", None, "0002", ("0001", "0002"))
    assert migrate(schema, url) == Done("zoo", "0002", "0002")
    assert [file.name for file in path.parent.glob("zoo.db*")] == ["zoo.db"]


def test_a_copy_is_kept_of_what_a_migration_changes(package: Package, path: Path, url: str) -> None:
    migrate(package.add(FIRST), url)
    run(path, PET)
    before = about(path)
    done = migrate(package.add(COLOUR), url)
    assert (done.applied, done.copy) == (("0002",), f"{path}.at-0001")
    copy = Path(f"{path}.at-0001")
    assert about(copy) == before
    assert copy.stat().st_mode & 0o777 == 0o600
    assert rows(path, "SELECT * FROM pet") == [("1", 4, "Rex", None)]
    path.unlink()
    path.write_bytes(copy.read_bytes())  # somebody went back, and comes again
    assert migrate(package.schema(), url).copy == f"{path}.at-0001.2"
    assert about(copy) == before


def test_a_migration_that_fails_changes_nothing_and_leaves_no_copy(
    package: Package, path: Path, url: str
) -> None:
    migrate(package.add(FIRST), url)
    run(path, PET)
    before = about(path)
    package.add(COLOUR)
    schema = package.add('op.execute("UPDATE pet SET name = NULL")')
    with pytest.raises(WrongSchema, match=r"zoo .*NOT NULL.*nothing was changed"):
        migrate(schema, url)
    assert about(path) == before
    assert not [*path.parent.glob("zoo.db.at-*")]


def test_two_at_once_do_it_once(package: Package, path: Path, url: str) -> None:
    package.add(FIRST)
    schema = package.add(COLOUR)
    done: list[Done] = []
    threads = [threading.Thread(target=lambda: done.append(migrate(schema, url))) for _ in "ab"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(len(each.applied) for each in done) == [0, 2]
    assert found(url) == Stand("0002", "0001", True)


def test_a_newer_database_is_not_touched(package: Package, path: Path, url: str) -> None:
    schema = package.add(FIRST)
    migrate(schema, url)
    migrate(package.add(COLOUR), url)
    before = about(path)
    old = package.schema()
    (package.folder / "r0002_step.py").unlink()
    with pytest.raises(WrongSchema, match=r"at revision 0002, which is newer than.*0001"):
        migrate(old, url)
    assert about(path) == before


def test_a_contracting_revision_raises_the_floor(package: Package, url: str) -> None:
    package.add(FIRST)
    package.add(COLOUR)
    drop = 'op.drop_column("pet", "colour")'
    migrate(package.add(drop, 'contract = True\nexpanded_by = "0002"\n'), url)
    assert found(url) == Stand("0003", "0002", True)


def test_a_file_from_before_revisions_that_is_the_same_is_only_stamped(
    package: Package, path: Path, url: str
) -> None:
    schema = package.add(FIRST)
    migrate(schema, url)
    run(path, f"DROP TABLE alembic_version; DROP TABLE styx_schema; {PET}")
    before = about(path)
    assert migrate(schema, url) == Done("zoo", None, "0001")
    assert [each for each in about(path) if each in before] == before
    assert not [*path.parent.glob("zoo.db.at-*")]


OLD = """
CREATE TABLE pet (id VARCHAR NOT NULL, name VARCHAR NOT NULL, PRIMARY KEY (id), UNIQUE (name));
CREATE TABLE attic (id VARCHAR);
INSERT INTO pet VALUES ('1', 'Rex');
"""


def test_a_file_from_before_revisions_gets_what_it_lacks(
    package: Package, path: Path, url: str
) -> None:
    run(path, OLD)
    package.add(FIRST)
    done = migrate(package.add(COLOUR), url)
    assert done.copy == f"{path}.at-none"
    assert rows(path, "SELECT id, name, legs, colour FROM pet") == [("1", "Rex", None, None)]
    names = {name for (name,) in rows(path, "SELECT name FROM sqlite_master")}
    assert {"toy", "toy_stays", "pet_legs", "attic"} <= names
    assert found(url) == Stand("0002", "0001", True)
    assert rows(Path(f"{path}.at-none"), "SELECT * FROM pet") == [("1", "Rex")]


def test_old_rows_get_what_the_revision_fills_in(package: Package, path: Path, url: str) -> None:
    run(path, "CREATE TABLE pet (id VARCHAR NOT NULL, n INTEGER NOT NULL DEFAULT 3, "
        "PRIMARY KEY (id)); INSERT INTO pet (id) VALUES ('1')")  # fmt: skip
    table = (
        'op.create_table("pet", sa.Column("id", sa.String(), primary_key=True),'
        ' sa.Column("legs", sa.Integer(), nullable=False))'
    )
    migrate(package.add(table, 'fills = {"pet.legs": "4"}\n'), url)
    assert rows(path, "SELECT id, legs FROM pet") == [("1", 4)]


PETS = "CREATE TABLE pet (id VARCHAR NOT NULL, legs INTEGER, name VARCHAR {}, PRIMARY KEY (id){});"
ROW = "INSERT INTO pet VALUES ('1', 4, 'Rex');"


@pytest.mark.parametrize(
    ("old", "said"),
    [
        (PETS.format("NOT NULL", "") + ROW, "the keys of pet are others"),
        (PETS.format("", ", UNIQUE (name)") + ROW, "column pet.name is another"),
        (
            "CREATE TABLE pet (id VARCHAR NOT NULL, PRIMARY KEY (id)); INSERT INTO pet VALUES (1);",
            "no column pet.name, and nothing to fill it with",
        ),
        (
            PETS.format("NOT NULL, age INTEGER NOT NULL", ", UNIQUE (name)")
            + "INSERT INTO pet VALUES ('1', 4, 'Rex', 3);",
            "column pet.age is unknown here and needs a value",
        ),
        (
            PETS.format("NOT NULL", ", UNIQUE (name)") + ROW + "CREATE INDEX pet_legs ON pet (id);",
            "index pet_legs is another",
        ),
    ],
)
def test_what_is_in_the_way_is_named_and_nothing_changed(
    package: Package, path: Path, url: str, old: str, said: str
) -> None:
    run(path, old)
    before = about(path)
    with pytest.raises(WrongSchema, match=rf"zoo .*{said}.*Nothing was changed: go on with"):
        migrate(package.add(FIRST), url)
    assert about(path) == before
    assert not [*path.parent.glob("zoo.db.at-*")]


def test_an_empty_table_that_is_too_unlike_is_made_anew(
    package: Package, path: Path, url: str
) -> None:
    run(path, PETS.format("", "") + "CREATE INDEX pet_legs ON pet (id);")
    schema = package.add(FIRST)
    migrate(schema, url)
    grown = about(path)
    path.unlink()
    migrate(schema, url)
    assert grown == about(path)
