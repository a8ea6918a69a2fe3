"""`styx demo`: the whole story, once, as a newcomer sees it."""

import asyncio
import sys
from pathlib import Path

import pytest
from stack_fixture import surroundings
from styx_cli.testing_ssh import SshHost

pytestmark = pytest.mark.integration


async def test_the_demo_tells_its_story_and_proves_its_log(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "styx_cli", "demo"),
        env=surroundings(tmp_path / "unused", TMPDIR="/tmp"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), 120)
    finally:
        if process.returncode is None:
            process.kill()
    said = out.decode()
    assert process.returncode == 0, said + err.decode()
    assert "Traceback" not in err.decode()
    head = next(line for line in said.splitlines() if line.startswith("who "))
    assert head.split("  ")[0] == "who"
    assert all(word in head for word in ("asked", "decided by", "because", "issued", "lived"))
    assert "staging-reads" in said
    assert "✓ the audit log verifies (" in said
    assert "NOT SO" not in said
    assert ("The SSH part was left out" in said) is bool(SshHost.missing())
    assert not (tmp_path / "unused").exists()
