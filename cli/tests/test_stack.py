"""The one port of the embedded stack: which service answers for which path."""

import json
from functools import partial
from operator import ne
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.types import Receive, Scope, Send
from styx_cli.stack import ORDER, Front, StackSettings, nats_users
from styx_core.bus import NatsBus
from styx_core.contract.rights import SERVICES
from styx_core.service import Running
from styx_core.testing import MemoryBus

WITH_APP = ("broker", "audit", "mcp-gateway")


def answering(name: str) -> Any:
    """An app that says who it is and what it was asked."""

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        content = json.dumps([name, scope["method"], scope["path"]]).encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": content})

    return app


@pytest.fixture
async def server() -> MemoryBus:
    return MemoryBus()


@pytest.fixture
async def front(server: MemoryBus) -> httpx.AsyncClient:
    """A front of five services, of which `adapters` is not ready."""
    running = {
        name: Running(
            app=answering(name) if name in WITH_APP else None,
            checks={"vault": partial(ne, name, "adapters")},
        )
        for name in ORDER
    }
    buses = {name: server.as_service(name) for name in ORDER}
    app = Front(running, cast(dict[str, NatsBus], buses))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://styx")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/mcp", "mcp-gateway"),
        ("/audit/entries", "audit"),
        ("/v1/exec", "broker"),
        ("/", "broker"),
        ("/admin", "broker"),
        ("/mcp/x", "broker"),
        ("/mcpx", "broker"),
        ("/audit", "broker"),
        ("/auditor", "broker"),
        ("/services/broker/v1/exec", "broker"),
        ("/services/grants/../v1", "broker"),
        ("/services/nothing/readyz", "broker"),
        ("/services/audit/audit/export", "broker"),
    ],
)
async def test_a_path_belongs_to_one_service(
    front: httpx.AsyncClient, path: str, name: str
) -> None:
    found, method, asked = (await front.post(path)).json()
    assert (found, method, asked) == (name, "POST", httpx.URL(f"http://x{path}").path)


async def test_each_services_health_has_its_own_path(
    front: httpx.AsyncClient, server: MemoryBus
) -> None:
    for name in ORDER:
        alive = await front.get(f"/services/{name}/healthz")
        assert (alive.status_code, alive.json()) == (200, {"service": name, "ok": True})
        ready = await front.get(f"/services/{name}/readyz")
        fine = name != "adapters"
        assert (ready.status_code, ready.json()["ok"]) == (200 if fine else 503, fine)
        assert ready.json()["parts"] == {"bus": True, "vault": fine}
        assert "styx_" in (await front.get(f"/services/{name}/metrics")).text
    assert (await front.get("/readyz")).json()["service"] == "broker"
    server.away = True
    assert (await front.get("/readyz")).json()["parts"]["bus"] is False


async def test_the_lifespan_is_answered_and_ends() -> None:
    messages, sent = iter(("lifespan.startup", "lifespan.shutdown")), []

    async def receive() -> dict[str, Any]:
        return {"type": next(messages)}

    async def send(message: Any) -> None:
        sent.append(message["type"])

    await Front({}, {})({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_every_service_of_the_contract_has_a_user_of_its_own() -> None:
    assert {*ORDER} == {*SERVICES}
    users = nats_users(b"FIXTURE root key, 32 bytes long.")
    assert {*users} == {*SERVICES, "bootstrap", "operator"}
    assert len({user.nkey for user in users.values()}) == len(users)


async def test_settings_say_where_and_on_which_ports() -> None:
    settings = StackSettings(Path("/data"), {"http": 4100})
    assert (settings.data, settings.ports, settings.programs) == (Path("/data"), {"http": 4100}, {})
