"""Start and stop the embedded stack's engines: nats-server and OpenBao, data under one folder."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from styx_core import keyring
from styx_core.nats_conf import NatsUser, bootstrap_user

from styx_cli.engines import bao, binaries, nats
from styx_cli.engines.ports import HOST, choose
from styx_cli.engines.process import Child

PORTS = ("nats", "nats_monitor", "bao", "bao_cluster")
KEY_FILE = "styx.key"


@dataclass(frozen=True, slots=True)
class Engines:
    """The running engines. `root` is the root key, from which their users' secrets derive."""

    nats_url: str
    nats_monitor_url: str
    bao_url: str
    nats: Child
    bao: Child
    root: bytes = field(repr=False)

    async def stop(self) -> None:
        """End both; returns when they are gone."""
        await asyncio.gather(self.nats.stop(), self.bao.stop())


async def start_engines(
    data: Path,
    users: Mapping[str, NatsUser],
    ports: Mapping[str, int] | None = None,
    programs: Mapping[str, Path] | None = None,
) -> Engines:
    """Start both engines and return once both are ready.

    `users` are NATS's, their keys from `keyring.nats_public_key` with the root key of
    `data / KEY_FILE`. `ports` names fixed ports (`PORTS`), `programs` fixed binaries
    (`binaries.WHEELS`). Raises `KeyFileError`, `PortTaken`, `BinaryMissing`, `EngineFailed`, and
    then leaves nothing running. Call it in the thread that lives as long as the engines shall.
    """
    programs = programs or {}
    root = prepare(data)
    chosen = choose(data / "ports.json", PORTS, ports or {})
    name = f"styx-{keyring.fingerprint(root)}"
    messages = nats.child(
        binaries.find("nats-server", programs.get("nats-server")),
        data,
        name,
        users,
        chosen["nats"],
        chosen["nats_monitor"],
    )
    vault = bao.child(
        binaries.find("bao", programs.get("bao")), data, root, chosen["bao"], chosen["bao_cluster"]
    )
    await _start_all(messages, vault)
    return Engines(
        nats_url=f"nats://{HOST}:{chosen['nats']}",
        nats_monitor_url=f"http://{HOST}:{chosen['nats_monitor']}",
        bao_url=f"http://{HOST}:{chosen['bao']}",
        nats=messages,
        bao=vault,
        root=root,
    )


def prepare(data: Path) -> bytes:
    """Make the data folder, for its owner alone, and answer its root key."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    data.chmod(0o700)
    (data / "logs").mkdir(mode=0o700, exist_ok=True)
    return keyring.load_or_create(data / KEY_FILE)


async def _start_all(*children: Child) -> None:
    outcomes = await asyncio.gather(*(child.start() for child in children), return_exceptions=True)
    failed = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    if failed:
        await asyncio.gather(*(child.stop() for child in children))
        raise failed[0]


@contextlib.asynccontextmanager
async def running_engines(
    data: Path, users: Mapping[str, NatsUser] | None = None
) -> AsyncIterator[Engines]:
    """Engines for a test, on free ports; without `users` NATS knows its bootstrap user only."""
    root = prepare(data)
    known = users or {
        "bootstrap": bootstrap_user(keyring.nats_public_key(root, "bootstrap"), "_INBOX_bootstrap")
    }
    engines = await start_engines(data, known)
    try:
        yield engines
    finally:
        await engines.stop()
