"""Both real engines together: up, up again, side by side, and all or nothing."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest
from styx_cli.engines import bao, binaries, nats
from styx_cli.engines.binaries import BinaryMissing
from styx_cli.engines.ports import choose
from styx_cli.engines.process import EngineFailed
from styx_cli.engines.run import PORTS, prepare, running_engines, start_engines
from styx_core import keyring
from styx_core.nats_conf import NatsUser, bootstrap_user

pytestmark = pytest.mark.integration


def users(data: Path) -> dict[str, NatsUser]:
    key = keyring.nats_public_key(prepare(data), "bootstrap")
    return {"bootstrap": bootstrap_user(key, "_INBOX_bootstrap")}


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


async def test_up_down_and_up_again_at_the_same_addresses(tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with running_engines(data) as first:
        pids = [first.nats.pid, first.bao.pid]
        assert "FIXTURE" not in repr(first)
        assert repr(first.root) not in repr(first)
    assert all(gone(pid) for pid in pids)
    assert data.stat().st_mode & 0o777 == 0o700
    async with running_engines(data) as second:
        assert (second.nats_url, second.bao_url) == (first.nats_url, first.bao_url)
        assert second.root == first.root


async def test_two_stacks_live_side_by_side(tmp_path: Path) -> None:
    async with running_engines(tmp_path / "a") as one, running_engines(tmp_path / "b") as other:
        addresses = [one.nats_url, one.nats_monitor_url, one.bao_url]
        addresses += [other.nats_url, other.nats_monitor_url, other.bao_url]
        assert len(set(addresses)) == 6
        port = int(other.nats_url.rpartition(":")[2])
        assert not await nats.greets(port, f"styx-{keyring.fingerprint(one.root)}")
        port = int(other.bao_url.rpartition(":")[2])
        assert not await bao.is_active(port, f"styx-{keyring.fingerprint(one.root)}")
        assert await bao.is_active(port, f"styx-{keyring.fingerprint(other.root)}")


async def test_a_first_start_that_was_killed_is_made_good(tmp_path: Path) -> None:
    """Killed once the store exists but before it was ever ready."""
    data = tmp_path / "data"
    root = prepare(data)
    ports = choose(data / "ports.json", PORTS, {})
    child = bao.child(binaries.find("bao"), data, root, ports["bao"], ports["bao_cluster"])
    starting = asyncio.create_task(child.start())
    async with asyncio.timeout(30):
        while not list((data / "bao" / "store").iterdir()):
            await asyncio.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(EngineFailed):
        await starting
    async with running_engines(data) as engines:
        assert await bao.is_active(
            int(engines.bao_url.rpartition(":")[2]), f"styx-{keyring.fingerprint(root)}"
        )


async def test_another_cluster_port_is_no_hindrance(tmp_path: Path) -> None:
    """It was taken meanwhile; raft remembers the old one."""
    data = tmp_path / "data"
    async with running_engines(data):
        pass
    memory = data / "ports.json"
    ports = json.loads(memory.read_text())
    del ports["bao_cluster"]
    memory.write_text(json.dumps(ports))
    async with running_engines(data) as engines:
        assert engines.bao_url.endswith(str(ports["bao"]))
        assert json.loads(memory.read_text())["bao_cluster"] != 0


@pytest.mark.parametrize("program", binaries.WHEELS)
async def test_if_one_engine_fails_neither_runs(tmp_path: Path, program: str) -> None:
    data = tmp_path / "data"
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no room left; exit 3\n")
    broken.chmod(0o755)
    known = users(data)
    with pytest.raises(EngineFailed, match="no room left"):
        await start_engines(data, known, programs={program: broken})
    for child in asyncio.all_tasks():
        assert not child.get_name().startswith("watch")
    async with running_engines(data) as engines:
        assert engines.nats.restarts == engines.bao.restarts == 0


async def test_a_missing_program_is_named_before_anything_starts(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(BinaryMissing, match="/no/such/bao"):
        await start_engines(data, users(data), programs={"bao": Path("/no/such/bao")})
    assert not list((data / "logs").iterdir())
