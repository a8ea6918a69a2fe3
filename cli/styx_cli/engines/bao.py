"""The embedded stack's OpenBao: data on disk, loopback only, opened by the root key.

At its first start it initialises itself from `styx_core.vault_bootstrap`; its root token is never
seen. At every later start it unseals itself. The seal key and, at the first start, the secret ids
reach it in its environment, never in a file or argv. A first start that was broken off leaves a
half-made store, which OpenBao refuses to open: until a start has succeeded once there can be
nothing in it, so it is moved aside and made anew.
"""

import asyncio
import json
import tempfile
from pathlib import Path

from styx_core import keyring, vault_bootstrap
from styx_core.vault_bootstrap import block

from styx_cli.engines.ports import HOST
from styx_cli.engines.process import Child, Command, set_aside

SEAL_VARIABLE = "STYX_BAO_SEAL_KEY"
AUDIT_LIMIT = 256 * 1_048_576
"""Bytes after which the audit log is set aside as `.1` at the next start."""


def child(binary: Path, data: Path, root: bytes, port: int, cluster_port: int) -> Child:
    """The server, ready to be started."""
    folder = data / "bao"
    folder.mkdir(mode=0o700, exist_ok=True)
    made = folder / "initialised"
    _store(folder, made)
    audit_log = data / "logs" / "bao-audit.log"
    set_aside(audit_log, AUDIT_LIMIT)
    config = folder / "bao.hcl"
    config.touch(mode=0o600)
    name = f"styx-{keyring.fingerprint(root)}"
    config.write_text(render(folder / "store", audit_log, name, port, cluster_port))
    command = Command(
        name="bao",
        argv=(str(binary), "server", f"-config={config}"),
        log=data / "logs" / "bao.log",
        env=_environment(root, first=not made.exists()),
    )

    async def ready() -> bool:
        if not await is_active(port, name):
            return False
        made.touch()
        return True

    return Child(command, ready)


def render(store: Path, audit_log: Path, name: str, port: int, cluster_port: int) -> str:
    """The configuration file's text; holds no secret. `name` also names the seal key."""
    return "\n".join(
        (
            "ui = false",
            'log_level = "info"',
            f"cluster_name = {json.dumps(name)}",
            f'api_addr = "http://{HOST}:{port}"',
            f'cluster_addr = "https://{HOST}:{cluster_port}"',
            # One node needs no election: pebbledb opens in 0.3 s where raft waits 3 s to elect.
            block("storage", "pebbledb", body={"path": str(store)}),
            block(
                "listener",
                "tcp",
                body={
                    "address": f"{HOST}:{port}",
                    "cluster_address": f"{HOST}:{cluster_port}",
                    "tls_disable": True,
                },
            ),
            block(
                "seal",
                "static",
                body={"current_key_id": name, "current_key": f"env://{SEAL_VARIABLE}"},
            ),
            f'audit "file" "styx" {{\n  options {{\n    file_path = {json.dumps(str(audit_log))}\n'
            '    mode = "0600"\n  }\n}\n',
            # Role ids are known and secret ids have 256 bits: a lockout would stop no guesser,
            # but let any local process lock a service out with five wrong sign-ins.
            block("user_lockout", "approle", body={"disable_lockout": "true"}),
            vault_bootstrap.initialize(),
        )
    )


async def is_active(port: int, name: str) -> bool:
    """Whether the OpenBao on `port` is the one called `name`, unsealed and active."""
    try:
        reader, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    try:
        writer.write(b"GET /v1/sys/health HTTP/1.0\r\nHost: localhost\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        health = json.loads(body) if b" 200 " in head.partition(b"\r\n")[0] else {}
    except (OSError, ValueError):
        return False
    finally:
        writer.close()
    return health.get("cluster_name") == name


def _store(folder: Path, made: Path) -> None:
    """Make the storage folder; a half-made one gives way (module docstring)."""
    store = folder / "store"
    if store.exists() and not made.exists():
        store.rename(Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder)) / "store")
    store.mkdir(mode=0o700, exist_ok=True)


def _environment(root: bytes, *, first: bool) -> dict[str, str]:
    environment = {SEAL_VARIABLE: keyring.seal_key(root)}
    if first:
        for service in vault_bootstrap.SERVICES:
            variable = vault_bootstrap.secret_id_variable(service)
            environment[variable] = keyring.secret_id(root, service)
    return environment
