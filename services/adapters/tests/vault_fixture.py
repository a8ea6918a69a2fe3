"""A real OpenBao, as `adapters` signs in to it: a provider's test imports the fixture `vault`."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from styx_cli.engines.run import running_engines
from styx_core import keyring, vault_bootstrap
from styx_core.vault import Vault


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vault(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Vault]:
    """The adapters' own way into a real OpenBao."""
    data = tmp_path_factory.mktemp("stack") / "data"
    async with running_engines(data) as engines:
        secret = keyring.secret_id(engines.root, "adapters")
        made = Vault(engines.bao_url, vault_bootstrap.role_id("adapters"), secret)
        yield made
        await made.close()
