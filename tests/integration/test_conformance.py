"""The protocol's own conformance suite, on the real app of a real stack."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from node_programs import CONFORMANCE, authorized, missing, run
from stack_fixture import an_agent, living

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(missing(CONFORMANCE)), reason=missing(CONFORMANCE)),
]

ON_THE_APP = (
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "http-header-validation",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    data = tmp_path_factory.mktemp("stack") / "data"
    async with (
        living(data) as here,
        an_agent(data) as agent,
        authorized(here.stack.url, agent.token) as url,
    ):
        yield f"{url}/mcp"


@pytest.mark.parametrize("scenario", ON_THE_APP)
async def test_the_app_conforms(app: str, scenario: str, tmp_path: Path) -> None:
    done = await run(CONFORMANCE, "server", "--url", app, "--scenario", scenario, home=tmp_path)
    assert done.code == 0, done.out + done.err
