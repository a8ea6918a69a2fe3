"""A provider is one file: dropped into a folder, or shipped as a package, it is everywhere."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_fixture import ACME, MemoryVault
from styx_adapters import providers
from styx_adapters.adapter import Deps
from styx_adapters.commands.coverage import coverage
from styx_adapters.fields import checked
from styx_adapters.registry import declared, install, modules
from styx_cli.shims import write_shims
from styx_cli.task_env import Task, agent_environment
from styx_core import catalog
from styx_core.classify import classify
from styx_core.errors import Invalid
from styx_core.redact import redact_argv
from styx_core.scope import Scope
from styx_core.service import utc_now
from styx_core.testing import MemoryBus
from styx_mcp_gateway.words import instructions

TWO = pytest.mark.parametrize(("name", "label"), [("acme", "ACME"), ("zenith", "ZENITH")])
"""One of the folder, one of a package."""


def deps() -> Deps:
    vault: Any = MemoryVault()
    return Deps(vault, utc_now)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A further folder of providers, with `acme.py` in it."""
    install(deps())
    before = set(sys.modules)
    place = tmp_path / "dropped"
    place.mkdir()
    (place / "acme.py").write_text(ACME.format(name="acme", label="ACME"))
    monkeypatch.setattr(providers, "__path__", [*providers.__path__, str(place)])
    yield place
    for name in set(sys.modules) - before:
        if name.startswith(f"{providers.__name__}."):
            del sys.modules[name]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A third party's package with the entry point, `styx-zenith`."""
    place = tmp_path / "site"
    info = place / "styx_zenith-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: styx-zenith\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[styx.providers]\nzenith = styx_zenith\n")
    (place / "styx_zenith.py").write_text(ACME.format(name="zenith", label="ZENITH"))
    monkeypatch.syspath_prepend(place)
    yield place
    sys.modules.pop("styx_zenith", None)


@pytest.fixture
async def reader(folder: Path, package: Path) -> catalog.Catalog:
    """What every other service sees: the catalog, after its way as JSON."""
    installed, disabled = install(deps())
    server = MemoryBus()
    found = [each.provider for each in installed.values()]
    await catalog.publish(server.as_service("adapters"), found, disabled, "key", {})
    for value in server.entries.values():
        json.loads(value)
    made = catalog.Catalog(server.as_service("broker"))
    await made.refresh()
    assert list(made.providers.values()) == found
    return made


def test_the_shipped_providers_all_start() -> None:
    installed, disabled = install(deps())
    assert {"aws", "ssh"} <= installed.keys()
    assert disabled == {}


@TWO
async def test_it_is_in_the_catalog_with_its_tools(
    reader: catalog.Catalog, name: str, label: str
) -> None:
    provider, tool = reader.tool(name)
    assert (provider.id, provider.label, tool.name) == (name, label, name)
    assert provider.scopes == (Scope.READ, Scope.DELETE)
    assert classify(tool, ["rm", "x"]).scopes == {Scope.DELETE}


@TWO
async def test_it_has_a_shim_and_its_variables_are_stripped(
    reader: catalog.Catalog, tmp_path: Path, name: str, label: str
) -> None:
    found = reader.providers.values()
    tools = {tool.name: p.kind for p in found for tool in p.tools}
    write_shims(tmp_path / "shims", tools)
    assert (tmp_path / "shims" / name).stat().st_mode & 0o111
    strip = tuple(variable for p in found for variable in p.stripped())
    quiet = {k: v for p in found for k, v in p.quiet.items()}
    task = Task("tsk_1", "FIXTURE-token", "prj", "http://styx", tools, strip, quiet)
    environ = {f"{label}_TOKEN": "FIXTURE-own", f"{label}_PROFILE": "me", "HOME": "/home/me"}
    env = agent_environment(environ, task, str(tmp_path / "shims"), "keyring")
    assert env.keys() & environ.keys() == {"HOME"}
    assert env[f"{label}_PROMPT"] == "off"
    assert f"{name}=env" in env["STYX_TOOLS"]


@TWO
async def test_its_secrets_are_redacted(reader: catalog.Catalog, name: str, label: str) -> None:
    secret = f"{name}_tok_FIXTURE_0123456789"
    assert secret not in reader.redact(f"it said {secret}.")
    assert secret not in str(redact_argv((name, "list", secret), reader.shapes))
    assert "it said" in reader.redact(f"it said {secret}.")


@TWO
async def test_its_fields_are_asked_for(reader: catalog.Catalog, name: str, label: str) -> None:
    secret = {"token": f"{name}_tok_FIXTURE"}
    provider = reader.providers[name]
    assert checked(provider, "token", {"region": "north"}, secret, False)[1] == secret
    with pytest.raises(Invalid, match="region: region is needed"):
        checked(provider, "token", {}, secret, False)


@TWO
async def test_agents_are_told_of_it(reader: catalog.Catalog, name: str, label: str) -> None:
    assert name in instructions(reader.providers)


@TWO
async def test_it_is_in_the_docs(folder: Path, package: Path, name: str, label: str) -> None:
    assert f"\n| {name} | 1.0 | 2 | all 2 | 1 | 0 | 0 | 1 |" in coverage()


BROKEN = {
    "syntax": ("def (", "SyntaxError"),
    "missing": ("import no_such_module_of_acme", "ModuleNotFoundError: No module named"),
    "bare": ('"""Nothing declared."""', "AttributeError"),
    "failing": (
        ACME.format(name="failing", label="F").replace("return object()", "raise OSError('no')"),
        "OSError: no",
    ),
    "double": (ACME.format(name="aws", label="AWS"), "declares the provider aws already"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_one_that_does_not_start_is_disabled_with_its_reason(folder: Path, name: str) -> None:
    text, reason = BROKEN[name]
    (folder / f"{name}.py").write_text(text)
    installed, disabled = install(deps())
    assert reason in disabled.pop(name)
    assert disabled == {}
    assert {"aws", "ssh", "acme"} <= installed.keys()
    assert {"aws", "ssh", "acme"} <= {each.id for each in declared()}


async def test_the_reason_is_told_to_everyone(folder: Path) -> None:
    (folder / "bare.py").write_text('"""Nothing declared."""')
    installed, disabled = install(deps())
    server = MemoryBus()
    found = [each.provider for each in installed.values()]
    await catalog.publish(server.as_service("adapters"), found, disabled, "key", {})
    reader = catalog.Catalog(server.as_service("mcp-gateway"))
    await reader.refresh()
    assert "PROVIDER" in reader.disabled["bare"]


def test_a_package_can_not_take_the_place_of_a_provider_that_ships(package: Path) -> None:
    (package / "styx_zenith.py").write_text(ACME.format(name="aws", label="EVIL"))
    installed, disabled = install(deps())
    assert installed["aws"].provider.label == "AWS"
    assert "already" in disabled["zenith"]
    assert [name for name, _ in modules()][-1] == "zenith"
