"""Schemathesis tries the broker's OpenAPI, as every kind of caller: nothing it sends is a 5xx.

What it sends is made from the schema with a fixed seed, right and wrong alike. A part that is away
may answer 503; here none is. The end of the caller's own session is left out, for it would end the
run; nothing waits for a person longer than a moment.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from stack_fixture import Living, living
from styx_cli.owner_token import raw
from styx_core import signing

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

ST = Path(sys.executable).parent / "st"
EXAMPLES, SEED, MINUTES = "10", "1", 6


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    data = tmp_path_factory.mktemp("stack") / "data"
    async with living(data, wait_seconds=0.05) as stack:
        yield stack


async def tokens(here: Living) -> dict[str, str]:
    """What each kind of caller shows."""
    task = await here.ask("POST", "/v1/tasks", {"project": "shop"})
    said = {"project": "shop", "name": "fuzz", "may": ["look", "run"]}
    key = await here.ask("POST", "/v1/api-keys", said)
    owner = signing.bearer(raw(here.place.secret))
    return {"owner": owner, "task": task["token"], "key": key["key"], "nobody": "FIXTURE-none"}


@pytest.mark.parametrize("who", ["owner", "task", "key", "nobody"])
async def test_nothing_that_anybody_sends_is_a_fault(
    here: Living, who: str, tmp_path: Path
) -> None:
    token = (await tokens(here))[who]
    config = tmp_path / "schemathesis.toml"
    config.write_text(f'headers = {{ Authorization = "Bearer {token}" }}\n')
    words = ["--config-file", str(config), "run", f"{here.stack.url}/v1/openapi.json"]
    words += ["--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing"]
    words += ["--max-examples", EXAMPLES, "--seed", SEED, "--request-timeout", "20"]
    words += ["--continue-on-failure", "--exclude-path", "/v1/signout", "--no-color"]
    ran = await asyncio.create_subprocess_exec(
        ST,
        *words,
        cwd=tmp_path,
        env={**os.environ, "SCHEMATHESIS_HOOKS": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(MINUTES * 60):
        said, _ = await ran.communicate()
    text = said.decode(errors="replace").replace(token, "…")
    assert ran.returncode == 0, text[-6000:]
    assert "Operations:" in text, text[-3000:]
