"""Lets these tests import the plain modules beside them; one running broker for each module."""

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest_asyncio

sys.path.insert(0, str(Path(__file__).parent))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one_broker(tmp_path_factory: Any) -> AsyncIterator[Any]:
    """Claimed, with a project and a running task; its tests run on one event loop."""
    from broker_fixture import opened

    async for world in opened(tmp_path_factory.mktemp("broker")):
        yield world


@pytest_asyncio.fixture(loop_scope="module")
async def world(one_broker: Any) -> Any:
    """The same, with nothing left of the test before."""
    await one_broker.reset()
    return one_broker
