"""Every part as a process of its own, so that a test can kill, freeze and start each alone.

The services run as in the team deployment (`python -m styx_<name>`), on real engines; the AWS
account stands behind `ProviderGate`, where a test can hold a call before or after its minting.
"""

import asyncio
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from provider_gate import ProviderGate
from pydantic import SecretStr
from stack_fixture import until
from styx_broker.tokens import fingerprint
from styx_cli.approver import Approver
from styx_cli.client import Address, Client
from styx_cli.commands.login import claim
from styx_cli.commands.policy import put
from styx_cli.deciding import decide
from styx_cli.demo.place import POLICY, aws_account, connect_aws
from styx_cli.engines.run import Engines, prepare, running_engines
from styx_cli.owner_token import new_secret, raw
from styx_cli.stack import BOOTSTRAP, ORDER, StackSettings, nats_users, service_settings
from styx_core import keyring, signing
from styx_core.bus_admin import prepare_stream
from styx_core.settings import Settings

CODE = "styx_adm_FIXTURE-first-code"


@dataclass
class Service:
    """One service's process."""

    name: str
    env: dict[str, str] = field(repr=False)
    log: Path
    process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        """Its own HTTP address."""
        return f"http://127.0.0.1:{self.env['STYX_HTTP_PORT']}"

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self.process is not None
        return self.process.pid

    async def start(self) -> None:
        """Start it and wait until it says that it is ready."""
        module = f"styx_{self.name.replace('-', '_')}"
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module), env=self.env, stdout=log, stderr=log
            )
        await until(self.ready)

    async def ready(self) -> bool:
        """Its own word."""
        assert self.process is not None
        assert self.process.returncode is None, self.log.read_text()[-2000:]
        async with httpx.AsyncClient() as http:
            try:
                return (await http.get(f"{self.url}/readyz", timeout=2)).status_code == 200
            except httpx.HTTPError:
                return False

    async def end(self, number: int = signal.SIGKILL) -> None:
        """Send it a signal and wait for its end."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)
            await self.process.wait()

    def freeze(self) -> None:
        """It stands still, and nobody is told."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it stood."""
        os.kill(self.pid, signal.SIGCONT)


@dataclass(frozen=True)
class Answer:
    """What a caller was told; status 0 is a connection that broke off."""

    status: int
    code: str = ""
    retryable: bool = False
    key: str = ""
    """The access key of the session that was handed over."""


@dataclass
class Parts:
    """All that runs, on one data folder."""

    data: Path
    engines: Engines
    services: dict[str, Service]
    gate: ProviderGate
    approver: Approver
    handed: list[str] = field(default_factory=list)
    """Access keys that callers got."""

    async def task(self) -> str:
        """A new task's token."""
        client = self.approver.client
        made = await asyncio.to_thread(client.call, "POST", "/v1/tasks", {"agent": "walker"})
        return str(made["token"])

    def call(self, token: str, *argv: str, target: str = "staging") -> "asyncio.Task[Answer]":
        """One `aws` call of a task."""
        body = {"tool": "aws", "argv": list(argv or ("s3", "ls")), "target": target}
        return asyncio.create_task(self._call(token, body))

    async def _call(self, token: str, body: dict[str, Any]) -> Answer:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx.AsyncClient(headers=headers, timeout=60) as http:
            try:
                reply = await http.post(f"{self.services['broker'].url}/v1/exec", json=body)
            except httpx.HTTPError:
                return Answer(0)
        said = reply.json()
        key = said.get("env", {}).get("AWS_ACCESS_KEY_ID", "")
        if key:
            self.handed.append(key)
        return Answer(reply.status_code, said.get("code", ""), said.get("retryable", False), key)

    async def pending(self) -> dict[str, Any]:
        """The request that waits."""
        client = self.approver.client

        def look() -> Any:
            return client.call("GET", "/v1/grants", state="pending")

        return (await until(lambda: asyncio.to_thread(look)))[0]  # type: ignore[no-any-return]

    async def approve(self, grant: dict[str, Any]) -> None:
        """The owner says yes."""
        await asyncio.to_thread(decide, self.approver, grant, "approve")

    async def ready(self) -> None:
        """Wait until every service is."""
        for each in self.services.values():
            await until(each.ready)

    async def log(self, kind: str) -> list[dict[str, Any]]:
        """The audit log's entries of a kind, once the log has taken all that was stored."""
        found = await asyncio.to_thread(self._entries, kind)
        return [each["entry"] for each in found]

    def _entries(self, kind: str) -> Any:
        client = Client(Address(self.services["audit"].url), signing.bearer(self.approver._secret))
        found = client.call("GET", "/audit/entries", kind=kind, limit=1000)["entries"]
        client.close()
        return found


@asynccontextmanager
async def parts(data: Path) -> AsyncIterator[Parts]:
    """Start everything, furnish it, and end it all."""
    async with AsyncExitStack() as stack:
        users = nats_users(prepare(data))
        engines = await stack.enter_async_context(running_engines(data, users))
        await prepare_stream(engines.nats_url, keyring.nats_seed(engines.root, BOOTSTRAP))
        services = {name: made(data, engines, name) for name in ORDER}
        await asyncio.to_thread(migrate, services)
        for each in services.values():
            stack.push_async_callback(each.end)
        await asyncio.gather(*(each.start() for each in services.values()))
        account = await asyncio.to_thread(stack.enter_context, aws_account())
        gate = await stack.enter_async_context(ProviderGate(account["endpoint"]))
        url = services["broker"].url
        approver = await asyncio.to_thread(owner, data, url)
        stack.callback(approver.client.close)
        await asyncio.to_thread(furnish, approver, {**account, "endpoint": gate.url})
        yield Parts(data, engines, services, gate, approver)


def migrate(services: dict[str, Service]) -> None:
    """The one-shot job that a team runs before its services."""
    names = ("audit", "broker", "grants")
    urls = {f"STYX_DATABASE_URL_{n.upper()}": services[n].env["STYX_DATABASE_URL"] for n in names}
    subprocess.run([sys.executable, "-m", "styx_core.migrate"], env=urls, check=True)


def made(data: Path, engines: Engines, name: str) -> Service:
    """A service's settings as its environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    base = Settings(log_level="INFO", http_port=port)
    url = f"http://127.0.0.1:{port}"
    own = service_settings(StackSettings(data, base=base), engines, name, url)
    settings = {name: getattr(own, name) for name in Settings.model_fields}
    plain = {
        f"STYX_{key.upper()}": each.get_secret_value() if isinstance(each, SecretStr) else str(each)
        for key, each in settings.items()
        if each is not None
    }
    env = {k: v for k, v in os.environ.items() if not k.startswith("STYX_")}
    return Service(name, {**env, **plain}, data / "logs" / f"{name}.log")


def owner(data: Path, url: str) -> Approver:
    """Claim the stack with a code that an operator put into the broker's database."""
    with sqlite3.connect(data / "db" / "broker.db") as broker:
        broker.execute("INSERT INTO claim VALUES (?, 0)", (fingerprint(CODE),))
    secret = new_secret()
    claim(f"{url}/admin#{CODE}", secret, "owner")
    known = raw(secret)
    return Approver(known, Client(Address(url), signing.bearer(known)))


def furnish(approver: Approver, account: dict[str, str]) -> None:
    """A project, two targets, rules."""
    project = approver.client.call("POST", "/v1/projects", {"name": "shop"})
    for name, env in (("staging", "staging"), ("prod", "prod")):
        connect_aws(approver, project, account, name, env)
    put(approver, project["id"], POLICY)
