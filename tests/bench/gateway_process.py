"""The gateway as a process on a real nats-server, before a `broker` and a `grants` that are played.

They answer at once, so that what is measured is the gateway's own.
"""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from urllib.error import URLError
from urllib.request import urlopen

from styx_cli.engines.run import prepare, running_engines
from styx_cli.stack import nats_users
from styx_core import keyring
from styx_core.bus import NatsBus
from styx_core.bus_admin import prepare_stream
from styx_core.catalog import publish
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.contract.grants import Access, CheckGrant, ListTargets, RequestAccess, TargetList
from styx_core.contract.grants_events import GrantDecided
from styx_core.ids import new_id
from styx_core.provider import Provider
from styx_core.scope import Scope
from styx_core.tool import Tool

ACME = Provider("acme", "Acme", (Tool(name="acme", read=("list",)),), (), (Scope.READ,))
AT_ONCE = 200
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Played:
    """What stands behind the gateway: every token is a task of its own."""

    bus: NatsBus
    tasks: dict[str, TaskIdentity] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    yes: bool = False
    told: dict[str, float] = field(default_factory=dict)
    """When each decision was published."""

    async def identify(self, command: IdentifyTask) -> TaskIdentity:
        """One task for each token."""
        known = self.tasks.get(command.token_sha256)
        if known is None:
            about = {"task_id": new_id("tsk"), "project_id": "prj_bench"}
            known = TaskIdentity(**about, agent="bench", person="bench")
            self.tasks[command.token_sha256] = known
        return known

    async def targets(self, _command: ListTargets) -> TargetList:
        """None."""
        return TargetList(targets=())

    async def request(self, command: RequestAccess) -> Access:
        """It waits."""
        self.waiting.append(new_id("grt"))
        return self._access(self.waiting[-1])

    async def check(self, command: CheckGrant) -> Access:
        """Where it stands."""
        return self._access(command.grant_id)

    def _access(self, grant_id: str) -> Access:
        status, by = ("active", "user") if self.yes else ("pending", None)
        about = {"grant_id": grant_id, "scopes": (Scope.READ,), "target": "shop", "why": ""}
        return Access(status=status, decided_by=by, **about)

    async def decide(self) -> None:
        """Say yes to all that waits."""
        self.yes = True
        for first in range(0, len(self.waiting), AT_ONCE):
            await asyncio.gather(*map(self._tell, self.waiting[first : first + AT_ONCE]))

    async def _tell(self, grant_id: str) -> None:
        body = f'{{"grant_id": "{grant_id}"}}'.encode()
        self.told[grant_id] = perf_counter()
        await self.bus.publish(GrantDecided.subject, new_id("evt"), body)


@dataclass
class Measured:
    """A server's process, and what it has used."""

    child: "subprocess.Popen[str]"
    url: str

    def cpu(self) -> float:
        """Seconds of CPU until now (proc(5): utime and stime)."""
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory(self) -> float:
        """KB that are resident (proc(5): VmRSS)."""
        status = Path(f"/proc/{self.child.pid}/status").read_text().splitlines()
        return float(next(line for line in status if line.startswith("VmRSS")).split()[1])


@contextlib.contextmanager
def floor_server(file: str, python: str = sys.executable) -> Iterator[Measured]:
    """Another server, which `file` here is."""
    words = [python, str(Path(__file__).with_name(file))]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        yield Measured(child, child.stdout.readline().strip())
    finally:
        child.kill()
        child.communicate(timeout=20)


@asynccontextmanager
async def gateway() -> AsyncIterator[tuple[Measured, Played]]:
    """Ours."""
    async with AsyncExitStack() as opened:
        data = Path(opened.enter_context(tempfile.TemporaryDirectory())) / "data"
        engines = await opened.enter_async_context(running_engines(data, nats_users(prepare(data))))
        await prepare_stream(engines.nats_url, keyring.nats_seed(engines.root, "bootstrap"))

        async def connect(name: str) -> NatsBus:
            bus = await NatsBus.connect(
                engines.nats_url, name, keyring.nats_seed(engines.root, name)
            )
            opened.push_async_callback(bus.close)
            return bus

        broker, adapters, grants = [await connect(n) for n in ("broker", "adapters", "grants")]
        played = Played(grants)
        await broker.serve("broker", {IdentifyTask: played.identify})
        await grants.serve(
            "grants",
            {
                RequestAccess: played.request,
                CheckGrant: played.check,
                ListTargets: played.targets,
            },
        )
        await publish(adapters, [ACME], {}, "", {})
        seed = keyring.nats_seed(engines.root, "mcp-gateway")
        process = _start(engines.nats_url, seed)
        opened.callback(process.child.wait, timeout=20)
        opened.callback(process.child.terminate)
        while not await asyncio.to_thread(_ready, process):
            await asyncio.sleep(0.05)
        yield process, played


def _start(nats_url: str, seed: str) -> Measured:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    url = f"http://127.0.0.1:{port}"
    said = {"NATS_URL": nats_url, "NATS_SEED": seed, "HTTP_PORT": str(port), "PUBLIC_URL": url}
    env = {**os.environ, **{f"STYX_{k}": v for k, v in said.items()}, "STYX_LOG_LEVEL": "ERROR"}
    child = subprocess.Popen([sys.executable, "-m", "styx_mcp_gateway"], env=env, text=True)
    return Measured(child, url)


def _ready(process: Measured) -> bool:
    if process.child.poll() is not None:
        raise RuntimeError("the gateway did not start")
    with contextlib.suppress(URLError, OSError):
        return bool(urlopen(f"{process.url}/readyz", timeout=2).status == 200)
    return False
