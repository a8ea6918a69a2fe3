"""The embedded stack: all five services in this process, beside a real nats-server and OpenBao.

Each service has its own NATS user, its own database file and, where it may, its own way into
Vault, exactly as in the team deployment; only the process and the one HTTP port are shared.
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path

import uvicorn
from pydantic import SecretStr
from starlette.types import ASGIApp, Receive, Scope, Send
from styx_core import keyring
from styx_core.bus import NatsBus
from styx_core.bus_admin import prepare_stream
from styx_core.contract.rights import SERVICES, rights
from styx_core.nats_conf import NatsUser, bootstrap_user, operator_user
from styx_core.schema import bring_up
from styx_core.service import Context, Running, Server, Service, health_app, open_vault, opened
from styx_core.settings import Settings
from styx_core.vault_bootstrap import role_id

from styx_cli.engines.ports import choose
from styx_cli.engines.run import Engines, prepare, start_engines

BOOTSTRAP, OPERATOR = "bootstrap", "operator"
ORDER = ("audit", "adapters", "grants", "broker", "mcp-gateway")
"""Who is asked starts before who asks."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class StackSettings:
    """How an embedded stack runs; a port of 0 is a free one, kept for the next start."""

    data: Path
    ports: dict[str, int] = field(default_factory=dict)
    programs: dict[str, Path] = field(default_factory=dict)
    base: Settings = field(default_factory=Settings)


@dataclass
class Stack:
    """A running stack."""

    url: str
    socket: Path
    engines: Engines
    admin_link: str | None
    running: dict[str, Running]


def services() -> dict[str, Service]:
    """The services by name, from their packages' own entry points."""
    found = {entry.name: entry.load() for entry in entry_points(group="styx.services")}
    missing = [name for name in ORDER if name not in found]
    if missing:
        raise LookupError(f"not installed: {', '.join(missing)}; run `make setup`")
    return found


def nats_users(root: bytes) -> dict[str, NatsUser]:
    """NATS's users: each service with what the contract lets it say and hear, and two of ours."""
    users = {}
    for name in SERVICES:
        may = rights(name)
        key = keyring.nats_public_key(root, name)
        users[name] = NatsUser(key, may.publish, may.subscribe)
    key = keyring.nats_public_key(root, BOOTSTRAP)
    operator = operator_user(keyring.nats_public_key(root, OPERATOR))
    return {**users, BOOTSTRAP: bootstrap_user(key, f"_INBOX_{BOOTSTRAP}"), OPERATOR: operator}


@asynccontextmanager
async def running_stack(settings: StackSettings, say: Say = lambda _: None) -> AsyncIterator[Stack]:
    """Start everything, wait until it is ready, and stop it all at the end."""
    async with AsyncExitStack() as stack:
        root = prepare(settings.data)
        # First in, last out: while the file is there, something of this stack still runs.
        stack.callback(_address(settings.data).unlink, missing_ok=True)
        say("nats-server and OpenBao")
        # Importing takes as long as the engines need to start: both at once.
        loading = asyncio.create_task(asyncio.to_thread(_loaded, settings.data, say))
        engines = await start_engines(
            settings.data, nats_users(root), _engine_ports(settings.ports), settings.programs
        )
        stack.push_async_callback(engines.stop)
        await prepare_stream(engines.nats_url, keyring.nats_seed(root, BOOTSTRAP))
        port = choose(settings.data / "ports.json", ("http",), _only(settings.ports, "http"))
        url = settings.base.public_url or f"http://127.0.0.1:{port['http']}"
        say("five services")
        running, buses = await _open_services(stack, settings, engines, url, await loading)
        app = Front(running, buses)
        path = settings.data / "run" / "broker.sock"
        await _serve(stack, app, port["http"], path, running)
        await _until(lambda: all(ok() for r in running.values() for ok in r.checks.values()))
        first = running["broker"].first_start
        code = await first() if first is not None else None
        _announce(settings.data, url, path)
        yield Stack(url, path, engines, f"{url}/admin#{code}" if code else None, running)


async def _open_services(
    stack: AsyncExitStack,
    settings: StackSettings,
    engines: Engines,
    url: str,
    known: dict[str, Service],
) -> tuple[dict[str, Running], dict[str, NatsBus]]:
    running, buses = {}, {}
    for name in ORDER:
        own = service_settings(settings, engines, name, url)
        bus = await NatsBus.connect(engines.nats_url, name, own.nats_seed.get_secret_value())
        stack.push_async_callback(bus.close)
        vault = open_vault(own) if known[name].vault else None
        if vault is not None:
            stack.push_async_callback(vault.close)
        context = Context(own, bus, vault)
        running[name] = await stack.enter_async_context(opened(known[name], context))
        buses[name] = bus
    return running, buses


def _loaded(data: Path, say: Say) -> dict[str, Service]:
    """The services, and their databases up to date. Raises `WrongSchema`."""
    known = services()
    urls = {s.schema: database_url(data, n) for n, s in known.items() if s.schema is not None}
    for did in bring_up(urls):
        say(did)
    return known


def database_url(data: Path, name: str) -> str:
    """A service's own file."""
    folder = data / "db"
    folder.mkdir(mode=0o700, exist_ok=True)
    return f"sqlite:///{folder}/{name}.db"


def service_settings(settings: StackSettings, engines: Engines, name: str, url: str) -> Settings:
    """One service's settings: its own user, database and Vault role."""
    vault = name in ("adapters", "audit")
    return settings.base.model_copy(
        update={
            "nats_url": engines.nats_url,
            "nats_seed": SecretStr(keyring.nats_seed(engines.root, name)),
            "database_url": database_url(settings.data, name),
            "vault_url": engines.bao_url,
            "vault_role_id": role_id(name) if vault else "",
            "vault_secret_id": SecretStr(keyring.secret_id(engines.root, name) if vault else ""),
            "public_url": url,
        }
    )


class Front:
    """One port for all: `/mcp` is the gateway's, `/audit` audit's, the rest the broker's.

    Every service's health is at `/services/<name>/healthz`, `/readyz` and `/metrics`.
    """

    def __init__(self, running: dict[str, Running], buses: dict[str, NatsBus]) -> None:
        self._health = {n: health_app(n, buses[n], r) for n, r in running.items()}
        self._apps = {n: r.app for n, r in running.items() if r.app is not None}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the call to the service that it is for."""
        if scope["type"] == "lifespan":
            return await _no_lifespan(receive, send)
        app, scope = self._route(scope)
        await app(scope, receive, send)

    def _route(self, scope: Scope) -> tuple[ASGIApp, Scope]:
        path: str = scope["path"]
        if path == "/mcp":
            return self._apps["mcp-gateway"], scope
        if path.startswith("/audit/"):
            return self._apps["audit"], scope
        if path.startswith("/services/"):
            name, _, rest = path.removeprefix("/services/").partition("/")
            if name in self._health and rest in ("healthz", "readyz", "metrics"):
                return self._health[name], {**scope, "path": f"/{rest}", "raw_path": b""}
        if path in ("/healthz", "/readyz", "/metrics"):
            return self._health["broker"], scope
        return self._apps["broker"], scope


async def _no_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _serve(
    stack: AsyncExitStack, app: ASGIApp, port: int, path: Path, running: dict[str, Running]
) -> None:
    config = uvicorn.Config(
        app, log_config=None, http="h11", timeout_graceful_shutdown=10, access_log=False
    )
    server = Server(config)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    sockets = [_tcp(port), _unix(path)]
    serving = asyncio.create_task(server.serve(sockets=sockets))

    async def stop() -> None:
        for each in running.values():
            each.drain()
        server.should_exit = True
        await serving
        with contextlib.suppress(FileNotFoundError):
            path.unlink()

    stack.push_async_callback(stop)
    await _until(lambda: server.started or serving.done())
    if serving.done():
        serving.result()


def _tcp(port: int) -> socket.socket:
    # The protocol by name: without it asyncio leaves Nagle's algorithm on, at 40 ms an answer.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    return bound


def _unix(path: Path) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    bound.bind(str(path))
    path.chmod(0o600)
    return bound


def _announce(data: Path, url: str, path: Path) -> None:
    """Tell this machine's `styx` commands where the stack is, while it runs."""
    _address(data).write_text(json.dumps({"url": url, "socket": str(path), "pid": os.getpid()}))


def _address(data: Path) -> Path:
    return data / "run" / "stack.json"


def _engine_ports(ports: dict[str, int]) -> dict[str, int]:
    return {name: number for name, number in ports.items() if name != "http"}


def _only(ports: dict[str, int], name: str) -> dict[str, int]:
    return {name: ports[name]} if name in ports else {}


async def _until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    """Wait for a condition. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.01)
