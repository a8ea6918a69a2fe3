"""The service as its host opens it: it publishes its catalog and answers its commands."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from adapter_fixture import MemoryVault
from styx_adapters.app import open_adapters, service
from styx_adapters.custody import SEALING_KEY
from styx_core import catalog
from styx_core.contract.adapters import CheckHealth
from styx_core.contract.base import COMMANDS
from styx_core.errors import Forbidden, Invalid
from styx_core.service import Context, opened
from styx_core.settings import Settings
from styx_core.testing import MemoryBus
from styx_core.vault import VaultSealed


def context(server: MemoryBus, vault: Any) -> Context:
    return Context(Settings(), server.as_service("adapters"), vault)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.005)


async def test_it_publishes_what_everyone_needs_to_know() -> None:
    server, vault = MemoryBus(), MemoryVault()
    async with opened(service, context(server, vault)):
        await until(lambda: catalog.INDEX in server.entries)
        reader = catalog.Catalog(server.as_service("broker"))
        await reader.refresh()
        assert {"aws", "ssh"} <= reader.providers.keys()
        assert reader.public["ssh_ca"] == vault.ca
        assert json.loads(reader.public["jwk"])["kty"] == "RSA"
        assert list(vault.held) == [SEALING_KEY]
        shown = b"".join(server.entries.values()).decode()
        assert vault.held[SEALING_KEY]["seeds"] not in shown
        first = reader.sealing_key
    async with opened(service, context(server, vault)):
        await reader.refresh()
        assert json.loads(server.entries[catalog.INDEX])["sealing_key"] == first


async def test_it_publishes_once_the_bus_is_there() -> None:
    server, vault = MemoryBus(), MemoryVault()
    server.away = True
    async with opened(service, context(server, vault)):
        await asyncio.sleep(0)
        assert server.entries == {}
        server.away = False
        await until(lambda: catalog.INDEX in server.entries)


async def test_it_answers_all_of_its_commands_and_only_to_who_may_ask() -> None:
    server = MemoryBus()
    async with open_adapters(context(server, MemoryVault())) as running:
        assert {k.subject for k in running.handlers} == {
            subject for subject, kind in COMMANDS.items() if kind.owner == "adapters"
        }
    async with opened(service, context(server, MemoryVault())):
        command = CheckHealth(provider="frob", credential_ref="creds/frob/x", config={})
        with pytest.raises(Invalid, match="no provider 'frob'"):
            await server.as_service("grants").request(command)
        with pytest.raises(Forbidden):
            await server.as_service("broker").request(command)


async def test_it_does_not_open_without_vault() -> None:
    server = MemoryBus()
    with pytest.raises(ValueError, match="adapters needs Vault"):
        async with open_adapters(context(server, None)):
            pass
    with pytest.raises(VaultSealed):
        async with open_adapters(context(server, MemoryVault(trouble=VaultSealed("sealed")))):
            pass
    assert server.entries == {}
