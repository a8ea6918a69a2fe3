"""The service as its host opens it: it records while it is open, and says whether it does."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from log_fixture import KeyVault, made, say
from styx_audit.app import open_audit, service
from styx_audit.models import SCHEMA
from styx_core.service import Context, health_app, opened
from styx_core.settings import Settings
from styx_core.testing import MemoryBus, migrated


def context(server: MemoryBus, path: Path, vault: Any = None) -> Context:
    settings = Settings(database_url=migrated(SCHEMA, f"sqlite:///{path}"))
    return Context(settings, server.as_service("audit"), vault)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


def client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://socket")


async def test_it_records_and_serves_and_goes_on_after_a_restart(
    server: MemoryBus, path: Path
) -> None:
    acked = server.durables["audit"].acked
    vault = KeyVault()
    for start in range(3):
        await say(server, made(start))
        async with opened(service, context(server, path, vault)) as running:
            await until(lambda start=start: len(acked) == start + 1)
            app = health_app("audit", server.as_service("audit"), running)
            async with client(app) as http:
                found = (await http.get("/audit/entries")).json()["entries"]
                assert [each["seq"] for each in found] == list(reversed(range(start + 1)))
                assert (await http.get("/readyz")).json()["parts"] == {
                    "bus": True,
                    "recording": True,
                }


async def test_it_is_not_ready_while_it_can_not_record(server: MemoryBus, path: Path) -> None:
    bus = server.as_service("audit")
    async with opened(service, context(server, path, KeyVault())) as running:
        server.away = True
        await until(lambda: not running.checks["recording"]())
        async with client(health_app("audit", bus, running)) as http:
            assert (await http.get("/readyz")).status_code == 503
            assert (await http.get("/healthz")).status_code == 200
        server.away = False
        await until(running.checks["recording"])


async def test_it_does_not_open_without_a_key_to_sign_with(server: MemoryBus, path: Path) -> None:
    with pytest.raises(ValueError, match="audit needs Vault"):
        async with open_audit(context(server, path)):
            pass
