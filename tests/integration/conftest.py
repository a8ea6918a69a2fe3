"""Lets these tests import the plain modules beside them; a PostgreSQL for who wants one."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

sys.path.insert(0, str(Path(__file__).parent))

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def database_server() -> Iterator[str]:
    """The URL of a real PostgreSQL; skips where there is none."""
    from postgres_fixture import postgres

    try:
        with postgres() as url:
            yield url
    except LookupError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def database_url(database_server: str) -> str:
    """A new database of the test's own."""
    name = f"test_{next(NUMBERS)}"
    engine = create_engine(database_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{database_server.rpartition('/')[0]}/{name}"
