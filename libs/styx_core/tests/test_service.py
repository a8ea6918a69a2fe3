"""What a host sees of a service: alive, ready or which part is not, measured, let go in order."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC

import httpx
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.errors import Forbidden, Unavailable
from styx_core.service import Context, Running, Server, Service, health_app, opened, utc_now
from styx_core.settings import Settings
from styx_core.testing import MemoryBus, MemoryService

WHO = TaskIdentity(task_id="tsk", project_id="prj", agent="a", person="p")
ASK = IdentifyTask(token_sha256="0" * 64)


async def known(_command: IdentifyTask) -> TaskIdentity:
    """A handler that knows everybody."""
    return WHO


@pytest.fixture
def server() -> MemoryBus:
    """The bus."""
    return MemoryBus()


@pytest.fixture
def bus(server: MemoryBus) -> MemoryService:
    """The service's own connection."""
    return server.as_service("broker")


def http(bus: MemoryService, running: Running) -> httpx.AsyncClient:
    """A client of the service's host."""
    transport = httpx.ASGITransport(app=health_app("broker", bus, running))
    return httpx.AsyncClient(transport=transport, base_url="http://broker")


async def test_a_service_is_alive_whatever_is_down(server: MemoryBus, bus: MemoryService) -> None:
    server.away = True
    async with http(bus, Running(checks={"catalog": lambda: False})) as client:
        answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"service": "broker", "ok": True})


async def test_readiness_says_which_part_is_down_and_when_it_is_back(
    server: MemoryBus, bus: MemoryService
) -> None:
    up = {"catalog": True, "recording": True}
    running = Running(checks={name: lambda name=name: up[name] for name in up})  # type: ignore[misc]
    async with http(bus, running) as client:

        async def ready() -> tuple[int, bool, dict[str, bool]]:
            answer = await client.get("/readyz")
            said = answer.json()
            assert said["service"] == "broker"
            return answer.status_code, said["ok"], said["parts"]

        assert await ready() == (200, True, {"bus": True, "catalog": True, "recording": True})
        server.away = True
        assert await ready() == (503, False, {"bus": False, "catalog": True, "recording": True})
        server.away, up["recording"] = False, False
        assert await ready() == (503, False, {"bus": True, "catalog": True, "recording": False})
        up["recording"] = True
        assert (await ready())[:2] == (200, True)


async def test_metrics_are_prometheus_text_of_what_was_handled(
    server: MemoryBus, bus: MemoryService
) -> None:
    running = Running({IdentifyTask: known})
    service = Service("broker", lambda _context: _open(running))
    async with opened(service, Context(Settings(), bus)), http(bus, running) as client:
        before = await handled(client)
        await server.as_service("mcp-gateway").request(ASK)
        assert await handled(client) == before + 1
        answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")


async def handled(client: httpx.AsyncClient) -> float:
    """How many commands of this kind the metrics tell of."""
    text = (await client.get("/metrics")).text
    wanted = {"service": "broker", "command": "identify_task", "outcome": "ok"}
    samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
    return sum(s.value for s in samples if s.name == "styx_commands_total" and s.labels == wanted)


@asynccontextmanager
async def _open(running: Running) -> AsyncIterator[Running]:
    yield running


async def test_the_services_own_app_stands_behind_them(bus: MemoryService) -> None:
    async def page(request: Request) -> Response:
        return PlainTextResponse(f"own {request.url.path}")

    app = Starlette(routes=[Route("/{rest:path}", page)])
    async with http(bus, Running(app=app)) as client:
        assert (await client.get("/v1/tasks")).text == "own /v1/tasks"
        assert (await client.get("/healthz")).json()["ok"] is True
    async with http(bus, Running()) as client:
        assert (await client.get("/v1/tasks")).status_code == 404


async def test_an_open_service_answers_and_closes_what_it_opened(
    server: MemoryBus, bus: MemoryService
) -> None:
    seen: list[object] = []

    @asynccontextmanager
    async def open_it(context: Context) -> AsyncIterator[Running]:
        seen.append(context)
        yield Running({IdentifyTask: known})
        seen.append("closed")

    context = Context(Settings(), bus)
    asker = server.as_service("mcp-gateway")
    with pytest.raises(Unavailable):
        await asker.request(ASK)
    async with opened(Service("broker", open_it), context):
        assert await asker.request(ASK) == WHO
        assert seen == [context]
    assert seen == [context, "closed"]
    assert context.now is utc_now
    assert utc_now().tzinfo is UTC


async def test_a_service_that_answers_for_another_does_not_open(server: MemoryBus) -> None:
    service = Service("audit", lambda _context: _open(Running({IdentifyTask: known})))
    with pytest.raises(Forbidden):
        async with opened(service, Context(Settings(), server.as_service("audit"))):
            pass


def test_callers_are_let_go_before_the_server_stops(bus: MemoryService) -> None:
    host = Server(uvicorn.Config(health_app("broker", bus, Running()), log_config=None))
    stopping: list[bool] = []
    host.end(lambda: stopping.append(host.should_exit))
    assert (stopping, host.should_exit) == ([False], True)
