"""The protocol's own conformance suite: what it asks of any server, on a real stack's `/mcp`; and
all that a revision requires, on the gateway's protocol layer with the suite's own tools in it.

Of 2026-07-28 nothing may fail. What fails of 2025-11-25 is listed with its reason, and the list may
only shrink: the suite fails on an entry that passes.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from endpoint_fixture import serving
from node_programs import CONFORMANCE, authorized, missing, run
from stack_fixture import an_agent, living
from suite_offers import Profile

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(missing(CONFORMANCE)), reason=missing(CONFORMANCE)),
    pytest.mark.filterwarnings("ignore:The logging capability is deprecated"),
]

ON_THE_APP = (
    "server-initialize",
    "ping",
    "tools-list",
    "dns-rebinding-protection",
    "http-header-validation",
    "server-stateless",
)


BESIDE = Path(__file__).parent
ON_THE_APP_FAILING = ("--expected-failures", str(BESIDE / "conformance-app.yaml"))
REVISIONS = {
    "2026-07-28": (),
    "2025-11-25": ("--expected-failures", str(BESIDE / "conformance-2025-11-25.yaml")),
}


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
    words = ("--scenario", scenario, *ON_THE_APP_FAILING)
    done = await run(CONFORMANCE, "server", "--url", app, *words, home=tmp_path)
    assert done.code == 0, done.out + done.err


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def profile() -> AsyncIterator[str]:
    async with serving(Profile) as alone, authorized(alone, "FIXTURE-token") as url:
        yield url


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_protocol_layer_does_all_that_a_revision_requires(
    profile: str, revision: str, tmp_path: Path
) -> None:
    words = ("--requirements", revision, *REVISIONS[revision])
    done = await run(CONFORMANCE, "server", "--url", profile, *words, home=tmp_path)
    assert done.code == 0, done.out + done.err
