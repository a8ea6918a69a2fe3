"""HSTS is said where Styx is reached over TLS, on every answer, and nowhere else."""

from pathlib import Path

import pytest
from broker_fixture import broker

NAME = "strict-transport-security"


@pytest.mark.parametrize(("url", "said"), [("https://styx.example", True), ("http://h:1", False)])
async def test_a_browser_is_told_to_come_by_tls_alone(tmp_path: Path, url: str, said: bool) -> None:
    async with broker(tmp_path, public_url=url) as world:
        for path in ("/signin", "/v1/tasks", "/nowhere", "/ssh/krl"):
            reply = await world.client().get(path)
            assert (NAME in reply.headers) is said, path
