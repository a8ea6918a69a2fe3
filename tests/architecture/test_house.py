"""The house limits, read from the sources themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted(
    path
    for top in ("libs", "services", "cli", "tests")
    for path in (ROOT / top).rglob("*.py")
    if ".venv" not in path.parts
)
SHIPPED = [path for path in SOURCES if "tests" not in path.parts]
FILE_LINES, FUNCTION_LINES = 300, 40
VAGUE = re.compile(r"(utils?|helpers?|manager|misc|common)", re.IGNORECASE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_there_are_sources() -> None:
    assert len(SHIPPED) > 50


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_a_file_holds_one_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_functions_are_short(path: Path) -> None:
    long = [
        f"{f.name}: {f.end_lineno - f.lineno + 1}"
        for f in functions(path)
        if f.end_lineno is not None and f.end_lineno - f.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_names_and_inits(path: Path) -> None:
    if path.name == "__init__.py":
        assert path.read_text() == ""
        return
    assert not VAGUE.fullmatch(path.stem)
    assert ast.get_docstring(ast.parse(path.read_text())), "a module says what it is"


@pytest.mark.parametrize("path", SHIPPED, ids=name)
def test_public_things_have_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text())
    bare = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]
    assert bare == []


@pytest.mark.parametrize(
    "path", [p for p in SHIPPED if "cli" not in p.parts and p.name != "__main__.py"], ids=name
)
def test_the_environment_is_read_at_the_edge_only(path: Path) -> None:
    if path.name != "settings.py" and "surface" not in path.parts:
        names = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Attribute)]
        assert not {n.attr for n in names} & {"environ", "getenv"}


def test_subjects_are_written_nowhere_but_in_the_contract() -> None:
    literal = re.compile(r"[\"']styx\.v1\.(cmd|evt)\.")
    found = [
        name(p) for p in SHIPPED if literal.search(p.read_text()) and "contract" not in p.parts
    ]
    assert found == []
