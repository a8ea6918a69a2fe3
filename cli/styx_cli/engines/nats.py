"""The embedded stack's nats-server: JetStream on disk, loopback only."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from styx_core import nats_conf

from styx_cli.engines.ports import HOST
from styx_cli.engines.process import Child, Command


def child(
    binary: Path,
    data: Path,
    name: str,
    users: Mapping[str, nats_conf.NatsUser],
    port: int,
    monitor: int,
) -> Child:
    """The server, ready to be started; `name` is the server name by which it is recognised."""
    folder = data / "nats"
    folder.mkdir(mode=0o700, exist_ok=True)
    config = folder / "nats.conf"
    config.touch(mode=0o600)
    config.write_text(
        nats_conf.render(
            HOST, port, str(folder / "jetstream"), users, server_name=name, monitor=monitor
        )
    )
    command = Command("nats", (str(binary), "-c", str(config)), data / "logs" / "nats.log")

    async def ready() -> bool:
        return await greets(port, name)

    return Child(command, ready)


async def greets(port: int, name: str) -> bool:
    """Whether the server on `port` is the one called `name` and has JetStream up.

    It says so in the INFO line that every NATS server opens a connection with.
    """
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    try:
        verb, _, text = (await reader.readline()).partition(b" ")
        info = json.loads(text) if verb == b"INFO" else {}
    except (OSError, ValueError):
        return False
    finally:
        writer.close()
    return info.get("server_name") == name and info.get("jetstream") is True
