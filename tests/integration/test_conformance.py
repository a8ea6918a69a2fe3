"""The protocol's own conformance suite: what it asks of any server, on a real stack's `/mcp`; and
all that a revision requires, on the gateway's protocol layer with the suite's own tools in it.

Of 2026-07-28 nothing may fail. What fails of 2025-11-25 is listed with its reason, and the list may
only shrink: the suite fails on an entry that passes.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
import uvicorn
from node_programs import CONFORMANCE, authorized, missing, run
from stack_fixture import an_agent, living, until
from styx_core.catalog import Catalog
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.ids import new_id
from styx_core.ratelimit import RateLimit
from styx_core.testing import MemoryBus
from styx_core.waiting import Waiting
from styx_mcp_gateway.deps import Deps
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
)


EXPECTED = Path(__file__).with_name("conformance-2025-11-25.yaml")
REVISIONS = {"2026-07-28": (), "2025-11-25": ("--expected-failures", str(EXPECTED))}


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


async def identify(_command: IdentifyTask) -> TaskIdentity:
    ids = {"task_id": new_id("tsk"), "project_id": new_id("prj")}
    return TaskIdentity(**ids, agent="suite", person="ada")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def profile() -> AsyncIterator[str]:
    bus = MemoryBus()
    await bus.as_service("broker").serve("broker", {IdentifyTask: identify})
    own = bus.as_service("mcp-gateway")
    endpoint = Profile(Deps(own, Catalog(own), Waiting("mcp-gateway"), RateLimit({})))
    await endpoint.start()
    server = uvicorn.Server(
        uvicorn.Config(endpoint, port=0, log_config=None, lifespan="off", http="h11")
    )
    serving = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with authorized(f"http://127.0.0.1:{port}", "FIXTURE-token") as url:
        yield url
    server.should_exit = True
    await serving
    await endpoint.stop()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_protocol_layer_does_all_that_a_revision_requires(
    profile: str, revision: str, tmp_path: Path
) -> None:
    words = ("--requirements", revision, *REVISIONS[revision])
    done = await run(CONFORMANCE, "server", "--url", profile, *words, home=tmp_path)
    assert done.code == 0, done.out + done.err
