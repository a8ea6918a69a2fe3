"""The `adapters` service, wired: bus only; Vault is its only store."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
from styx_core import catalog, vault_rsa
from styx_core.bus import Bus
from styx_core.dispatch import handlers_of
from styx_core.errors import StyxError
from styx_core.service import Context, Running, Service
from styx_core.vault import Vault, VaultError

from styx_adapters import handlers, handlers_notices, identity
from styx_adapters.adapter import Deps
from styx_adapters.api import Api
from styx_adapters.custody import sealing_key
from styx_adapters.leases import Leases
from styx_adapters.local_login import LocalLogin
from styx_adapters.registry import install

log = structlog.get_logger()

RETRY_SECONDS = 1.0


@asynccontextmanager
async def open_adapters(context: Context) -> AsyncIterator[Running]:
    """Open the service on its context. Raises `VaultError` when Vault is away at the start."""
    vault = context.vault
    if vault is None:
        raise ValueError("adapters needs Vault")
    key = await sealing_key(vault)
    await vault_rsa.make(vault, identity.KEY)
    environ = context.settings.local_environ
    login = None if environ is None else LocalLogin(Path(environ["HOME"]), environ)
    api = Api()
    deps = Deps(vault, context.now, api, login, context.settings.public_url)
    installed, disabled = install(deps)
    local = login is not None
    leases = Leases(context.now)
    state = handlers.State(vault, installed, disabled, key, leases, local, context.now)
    publishing = asyncio.create_task(_publish(context.bus, vault, state))
    try:
        yield Running(handlers=handlers_of("adapters", state, handlers, handlers_notices))
    finally:
        publishing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await publishing
        await api.close()


async def _publish(bus: Bus, vault: Vault, state: handlers.State) -> None:
    """Publish the catalog; try until it is taken."""
    while True:
        try:
            public = {
                "ssh_ca": await vault.ssh_ca_public_key(),
                "jwk": json.dumps(await vault_rsa.public_jwk(vault, identity.KEY)),
            }
            found = [
                each.provider.offered(state.local_machine) for each in state.installed.values()
            ]
            await catalog.publish(bus, found, state.disabled, state.key.public, public)
            return
        except (StyxError, VaultError) as error:
            log.warning("catalog not published yet", reason=str(error))
            await asyncio.sleep(RETRY_SECONDS)


service = Service("adapters", open_adapters, vault=True)
