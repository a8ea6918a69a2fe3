"""Lets these tests import the plain modules that stand beside them; a log's parts."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from styx_core.db import Database
from styx_core.testing import MemoryBus


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The database file."""
    return tmp_path / "audit.db"


@pytest.fixture
async def db(path: Path) -> AsyncIterator[Database]:
    """The database in it."""
    from log_fixture import opened

    database = opened(path)
    yield database
    await database.close()


@pytest.fixture
async def server() -> MemoryBus:
    """The stream."""
    return MemoryBus()
