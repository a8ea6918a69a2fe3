"""Finding providers: every module in `providers/`, and every entry point `styx.providers`.

One that can't be imported or started is listed as disabled, with the reason, and takes nobody down.
"""

import contextlib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType

import structlog
from styx_core.provider import Provider

from styx_adapters import providers
from styx_adapters.adapter import Deps, Installed

log = structlog.get_logger()


def modules() -> Iterator[tuple[str, str]]:
    """Each provider's name and the module that holds it."""
    for found in iter_modules(providers.__path__):
        yield found.name, f"{providers.__name__}.{found.name}"
    for entry in entry_points(group="styx.providers"):
        yield entry.name, entry.value


def declared() -> Iterator[Provider]:
    """The declarations of the providers that can be imported, without starting any."""
    for _, where in modules():
        with contextlib.suppress(Exception):
            yield import_module(where).PROVIDER


def install(deps: Deps) -> tuple[dict[str, Installed], dict[str, str]]:
    """The providers that start, by id, and why each of the others doesn't."""
    installed: dict[str, Installed] = {}
    disabled: dict[str, str] = {}
    for name, where in modules():
        try:
            module: ModuleType = import_module(where)
            provider = module.PROVIDER
            if provider.id in installed:
                raise ValueError(f"another module declares the provider {provider.id} already")
            installed[provider.id] = Installed(provider, module.adapter(deps))
        except Exception as error:  # noqa: BLE001 (a third party's module may raise anything)
            disabled[name] = f"{type(error).__name__}: {error}"
            log.warning("provider disabled", provider=name, reason=disabled[name])
    return installed, disabled
