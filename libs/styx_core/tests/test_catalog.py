"""The catalog: what providers declare reaches every service whole, one edition after another."""

import json
from dataclasses import replace

import pytest
from core_fixture import until
from styx_adapters.registry import declared
from styx_core import catalog as module
from styx_core.catalog import INDEX, Catalog, publish
from styx_core.classify import classify
from styx_core.errors import Forbidden, Unavailable, UnknownTool
from styx_core.provider import Provider
from styx_core.scope import Scope
from styx_core.testing import MemoryBus
from styx_core.tool import Tool

REAL = {provider.id: provider for provider in declared()}
DISABLED = {"heroku": "ImportError: FIXTURE"}
ACME = Provider(
    id="acme",
    label="Acme",
    tools=(Tool(name="acme", read=("list",), write=("set",)),),
    methods=(),
    scopes=(Scope.READ,),
)


@pytest.fixture
def bus() -> MemoryBus:
    """A bus without a catalog."""
    return MemoryBus()


async def put(bus: MemoryBus, *providers: Provider, key: str = "key") -> None:
    """`adapters` publishes an edition."""
    await publish(bus.as_service("adapters"), providers, DISABLED, key, {"ssh_ca": "FIXTURE-ca"})


def reader(bus: MemoryBus) -> Catalog:
    """The copy of a service that only reads."""
    return Catalog(bus.as_service("broker"))


async def test_what_the_real_providers_declare_arrives_whole(bus: MemoryBus) -> None:
    assert len(REAL) >= 6
    await put(bus, *REAL.values())
    catalog = reader(bus)
    await catalog.refresh()
    assert catalog.providers == REAL
    assert catalog.disabled == DISABLED
    assert (catalog.sealing_key, catalog.public) == ("key", {"ssh_ca": "FIXTURE-ca"})
    assert set(catalog.shapes) == {shape for p in REAL.values() for shape in p.shapes}


@pytest.mark.parametrize("provider", REAL.values(), ids=lambda provider: provider.id)
async def test_each_tool_has_its_owner_and_classifies_as_declared(
    bus: MemoryBus, provider: Provider
) -> None:
    await put(bus, *REAL.values())
    catalog = reader(bus)
    await catalog.refresh()
    for tool in provider.tools:
        owner, copy = catalog.tool(tool.name)
        assert (owner, copy) == (provider, tool)
        for argv in ((), ("--help",), ("list",), ("no-such-command", "--flag")):
            assert classify(copy, argv) == classify(tool, argv)


async def test_nothing_that_adapters_publish_is_secret(bus: MemoryBus) -> None:
    await put(bus, *REAL.values())
    catalog = reader(bus)
    await catalog.refresh()
    for key, value in bus.entries.items():
        if key.startswith("provider."):
            fields = [f for m in json.loads(value)["methods"] for f in m["fields"]]
            assert not [f["name"] for f in fields if f["secret"] and f["default"]]


async def test_a_tool_that_nobody_owns_is_named_with_those_that_are(bus: MemoryBus) -> None:
    await put(bus, ACME)
    catalog = reader(bus)
    await catalog.refresh()
    with pytest.raises(UnknownTool, match=r"no provider owns the tool 'kubectl'; known: acme"):
        catalog.tool("kubectl")
    with pytest.raises(UnknownTool) as told:
        catalog.tool("x" * 10_000)
    assert len(told.value.detail) < 200


async def test_before_the_first_edition_a_tool_is_not_unknown_but_unavailable(
    bus: MemoryBus,
) -> None:
    catalog = reader(bus)
    await catalog.refresh()
    with pytest.raises(Unavailable, match="has not arrived yet; try again"):
        catalog.tool("aws")


async def test_readers_take_the_first_edition_and_the_next(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    bus.away = True
    catalog = reader(bus)
    await catalog.start()
    bus.away = False
    await put(bus, ACME)
    await until(lambda: set(catalog.providers) == {"acme"})
    bus.away = True
    assert catalog.tool("acme")[0] == ACME, "what it has, it keeps"
    bus.away = False
    await put(bus, *REAL.values(), key="another")
    await until(lambda: catalog.providers == REAL)
    assert catalog.sealing_key == "another"
    with pytest.raises(UnknownTool):
        catalog.tool("acme")
    await catalog.stop()


async def test_the_same_names_with_other_rules_are_a_new_edition(bus: MemoryBus) -> None:
    await put(bus, ACME)
    catalog = reader(bus)
    await catalog.refresh()
    stricter = replace(ACME, tools=(Tool(name="acme", read=(), write=("list", "set")),))
    await put(bus, stricter)
    await catalog.refresh()
    assert catalog.providers == {"acme": stricter}


async def test_the_same_edition_again_changes_nothing(bus: MemoryBus) -> None:
    await put(bus, ACME)
    catalog = reader(bus)
    await catalog.refresh()
    before = catalog.tool("acme")[1]
    await put(bus, ACME)
    await catalog.refresh()
    assert catalog.tool("acme")[1] is before


async def test_an_edition_that_is_not_whole_is_left_until_it_is(bus: MemoryBus) -> None:
    await put(bus, ACME)
    catalog = reader(bus)
    await catalog.refresh()
    await put(bus, *REAL.values())
    entry = bus.entries.pop("tool.aws")
    with pytest.raises(Unavailable, match=r"the catalog lacks tool\.aws; try again"):
        await catalog.refresh()
    assert catalog.providers == {"acme": ACME}
    bus.entries["tool.aws"] = entry
    await catalog.refresh()
    assert catalog.providers == REAL


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tool.acme", b'{"name": "acme", "of_a_later_release": ["x"]}'),
        ("tool.acme", b"not JSON"),
        ("provider.acme", b'{"id": "acme"}'),
        ("provider.acme", b"[]"),
        (INDEX, b'{"providers": []}'),
        (INDEX, b"[]"),
    ],
)
async def test_an_edition_that_cannot_be_read_takes_nobody_down(
    bus: MemoryBus, key: str, value: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    await put(bus, ACME)
    catalog = reader(bus)
    await catalog.refresh()
    await put(bus, ACME, key="another")
    bus.entries[key] = value
    with pytest.raises(Unavailable, match="can't be read, so the one before it stays"):
        await catalog.refresh()
    await catalog.start()
    assert (catalog.providers, catalog.sealing_key) == ({"acme": ACME}, "key")
    await put(bus, ACME, key="a third")
    await until(lambda: catalog.sealing_key == "a third")
    await catalog.stop()


async def test_only_adapters_publish(bus: MemoryBus) -> None:
    with pytest.raises(Forbidden):
        await publish(bus.as_service("broker"), [ACME], {}, "key", {})
    assert bus.entries == {}
