"""`styx provider new`: what it writes passes as it is, and it overwrites nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from styx_cli.commands import provider

ROOT = Path(__file__).parent.parent.parent
BIN = Path(sys.executable).parent


def styx(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [BIN / "styx", "provider", "new", *words]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, timeout=60)


def run(*words: str | Path, cwd: Path) -> str:
    env = {**os.environ, "PYTHONPATH": str(cwd)}
    done = subprocess.run(words, cwd=cwd, text=True, capture_output=True, timeout=120, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_it_writes_is_a_provider_whose_tests_pass(tmp_path: Path) -> None:
    done = styx("netlify", "--label", "Netlify 2.0", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made, test = tmp_path / "styx_netlify.py", tmp_path / "tests" / "test_styx_netlify.py"
    assert f"written: {made.name}" in done.stdout
    assert 'netlify = "styx_netlify"' in done.stdout
    passed = run(BIN / "pytest", "-q", "-o", "asyncio_mode=auto", test, cwd=tmp_path)
    assert "failed" not in passed
    assert "passed" in passed
    run(BIN / "mypy", "--strict", made, cwd=tmp_path)
    run(BIN / "ruff", "format", "--check", "--config", ROOT / "pyproject.toml", ".", cwd=tmp_path)


def test_in_a_checkout_they_go_where_the_shipped_ones_are(tmp_path: Path) -> None:
    (tmp_path / provider.SHIPPED).mkdir(parents=True)
    made, test, module = provider.places("acme", tmp_path)
    assert made == tmp_path / provider.SHIPPED / "acme.py"
    assert test == tmp_path / "services/adapters/tests/providers/test_acme.py"
    assert module == "styx_adapters.providers.acme"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_styx_acme.py").write_text("mine")
    done = styx("acme", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (64, "")
    assert "is there already; nothing was written" in done.stderr
    assert [p.name for p in tmp_path.rglob("*.py")] == ["test_styx_acme.py"]


@pytest.mark.parametrize("name", ["Bad", "a", "import", "../x", "a-b", "1a", "x" * 40, "é"])
def test_a_name_that_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    done = styx("--", name, cwd=tmp_path)
    assert done.returncode == 64
    assert list(tmp_path.iterdir()) == []


def test_a_label_can_not_break_out_of_its_quotes(tmp_path: Path) -> None:
    done = styx("acme", "--label", '"""\nimport os', cwd=tmp_path)
    assert done.returncode == 64
    assert "--label" in done.stderr
    assert list(tmp_path.iterdir()) == []
