"""Who may open which database: an older one waits, a newer one is judged by its floor."""

from pathlib import Path

import pytest
from migrations_fixture import COLOUR, FIRST, Package, run
from sqlalchemy import MetaData
from styx_core.migrate.running import migrate
from styx_core.schema import Schema, Stand, WrongSchema, bring_up, found, settled, usable


@pytest.fixture
def package(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Package:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Package(tmp_path, f"zoo_{abs(hash(request.node.nodeid))}")


def test_the_revisions_are_the_files_of_the_package(package: Package) -> None:
    package.add(FIRST)
    (package.folder / "notes.py").write_text("")
    schema = package.add(COLOUR)
    assert schema.revisions == ("0001", "0002")
    assert schema.head == "0002"
    with pytest.raises(LookupError, match="no_such_package"):
        _ = Schema("zoo", MetaData(), "no_such_package").revisions


@pytest.mark.parametrize(
    ("revision", "floor", "may"),
    [
        (None, None, False),
        ("0001", "0001", False),
        ("0002", "0001", True),
        ("0003", "0001", True),
        ("0003", "0002", True),
        ("0003", None, True),
        ("0009", "0003", None),
        ("0000", "0001", None),
        ("elsewhere", "0009", None),
    ],
)
def test_which_database_this_code_may_run_on(
    package: Package, revision: str | None, floor: str | None, may: bool | None
) -> None:
    package.add(FIRST)
    schema = package.add(COLOUR)
    stand = Stand(revision, floor, True)
    if may is None:
        with pytest.raises(WrongSchema, match=rf"zoo database is at revision {revision}.*0002"):
            usable(schema, stand)
    else:
        assert usable(schema, stand) is may


def test_how_a_database_stands(package: Package, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'zoo.db'}"
    assert found(url) == Stand(None, None, False)
    migrate(package.add(FIRST), url)
    assert found(url) == Stand("0001", "0001", True)
    run(tmp_path / "zoo.db", "DROP TABLE styx_schema")
    assert found(url) == Stand("0001", None, True)


async def test_an_older_database_is_waited_for_and_named_at_the_end(
    package: Package, tmp_path: Path
) -> None:
    schema, url = package.add(FIRST), f"sqlite:///{tmp_path / 'zoo.db'}"
    with pytest.raises(WrongSchema, match=r"needs revision 0001.*styx_core.migrate zoo"):
        await settled(schema, url, 0.01)
    migrate(schema, url)
    await settled(schema, url, 20)


def test_a_current_database_is_left_alone(package: Package, tmp_path: Path) -> None:
    schema, url = package.add(FIRST), f"sqlite:///{tmp_path / 'zoo.db'}"
    assert bring_up({schema: url}) == [], "a new one is no news"
    assert bring_up({schema: url}) == []
    said = bring_up({package.add(COLOUR): url})
    assert said == [f"zoo: 0001 → 0002; as it was: {tmp_path / 'zoo.db'}.at-0001"]


def test_one_that_cant_be_migrated_keeps_the_others_as_they_are(
    package: Package, tmp_path: Path
) -> None:
    old, url, newer = package.add(FIRST), *(f"sqlite:///{tmp_path / n}.db" for n in ("a", "b"))
    migrate(old, url)
    now = package.add(COLOUR)
    migrate(now, newer)
    run(tmp_path / "b.db", "UPDATE alembic_version SET version_num = '0009'")
    other = Schema("other", MetaData(), now.package)
    with pytest.raises(WrongSchema, match="the other database is at revision 0009"):
        bring_up({now: url, other: newer})
    assert found(url).revision == "0001"
