"""The gateway as a process on a real nats-server, reached by the SDK's client through `styx mcp`.

`grants` and `broker` are played on their own NATS users; stops, kills and restarts are real.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from styx_cli.engines.run import prepare, running_engines
from styx_cli.keyring_agent import Keyring
from styx_cli.stack import nats_users
from styx_cli.testing_ssh import SshHost
from styx_core import keyring
from styx_core.bus import NatsBus
from styx_core.bus_admin import prepare_stream
from styx_core.catalog import publish
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.contract.grants import (
    Access,
    Authorized,
    CheckGrant,
    GetCredential,
    ListTargets,
    RequestAccess,
    Sealed,
    TargetList,
)
from styx_core.contract.grants_events import GrantDecided
from styx_core.errors import Unauthenticated
from styx_core.ids import new_id
from styx_core.provider import Provider
from styx_core.scope import Scope
from styx_core.seal import seal, use_info
from styx_core.tool import Tool

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

TOKEN = "FIXTURE-task-token"
DIGEST = hashlib.sha256(TOKEN.encode()).hexdigest()
TASK = TaskIdentity(task_id=new_id("tsk"), project_id=new_id("prj"), agent="claude", person="ada")
ACME = Provider("acme", "Acme", (Tool(name="acme", read=("list",)),), (), (Scope.READ,))
WANTED = {"target": "shop", "scopes": ["read"], "reason": "look"}
BRIDGE = "import sys; from styx_cli.mcp_bridge import main_fast; sys.exit(main_fast(['mcp']))"


@dataclass
class Grants:
    """`grants`, played: one request at a time, pending until the test decides."""

    bus: NatsBus
    access: dict[str, Access] = field(default_factory=dict)
    certify: Callable[[str], str] = lambda _key: ""

    def standing(self, grant_id: str, status: Any, **more: Any) -> Access:
        self.access[grant_id] = Access(
            status=status, grant_id=grant_id, scopes=(Scope.READ,), target="shop", why="", **more
        )
        return self.access[grant_id]

    async def request(self, command: RequestAccess) -> Access:
        open_one = next((a for a in self.access.values() if a.status == "pending"), None)
        return open_one or self.standing(new_id("grt"), "pending", queue_position=1)

    async def check(self, command: CheckGrant) -> Access:
        return self.access[command.grant_id]

    async def list(self, command: ListTargets) -> TargetList:
        return TargetList(targets=())

    async def credential(self, command: GetCredential) -> Authorized:
        assert command.public_key is not None
        secret = {"certificate": self.certify(command.public_key), "env": {}}
        sealed = Sealed(
            lease_id=new_id("lse"),
            kind="ssh-agent",
            box=seal(secret, command.edge_key, use_info(command.grant_id, command.exec_id)),
            expires_at=datetime.now(UTC) + timedelta(minutes=5),
            scoped=False,
            revocable="expiry",
        )
        return Authorized(access=self.access[command.grant_id], sealed=sealed)

    async def decide(self, grant_id: str) -> None:
        self.standing(grant_id, "active", decided_by="user")
        told = json.dumps({"grant_id": grant_id}).encode()
        await self.bus.publish(GrantDecided.subject, new_id("evt"), told)


@dataclass
class Gateway:
    """The gateway's process, which a test may stop and start."""

    url: str
    env: dict[str, str] = field(repr=False)
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "styx_mcp_gateway", env=self.env
        )
        async with httpx.AsyncClient() as http, asyncio.timeout(60):
            while True:
                with contextlib.suppress(httpx.HTTPError):
                    if (await http.get(f"{self.url}/readyz")).status_code == 200:
                        return
                await asyncio.sleep(0.02)

    async def end(self, number: int = signal.SIGTERM) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(number)
        async with asyncio.timeout(30):
            await self.process.wait()


async def identify(command: IdentifyTask) -> TaskIdentity:
    if command.token_sha256 != DIGEST:
        raise Unauthenticated("this token is not of a running task")
    return TASK


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Gateway, Grants]]:
    data: Path = tmp_path_factory.mktemp("stack") / "data"
    async with contextlib.AsyncExitStack() as opened:
        users = nats_users(prepare(data))
        engines = await opened.enter_async_context(running_engines(data, users))
        await prepare_stream(engines.nats_url, keyring.nats_seed(engines.root, "bootstrap"))

        async def connect(name: str) -> NatsBus:
            seed = keyring.nats_seed(engines.root, name)
            bus = await NatsBus.connect(engines.nats_url, name, seed)
            opened.push_async_callback(bus.close)
            return bus

        broker, adapters, own = [await connect(n) for n in ("broker", "adapters", "grants")]
        grants = Grants(own)
        await broker.serve("broker", {IdentifyTask: identify})
        await own.serve(
            "grants",
            {
                RequestAccess: grants.request,
                CheckGrant: grants.check,
                GetCredential: grants.credential,
                ListTargets: grants.list,
            },
        )
        await publish(adapters, [ACME], {}, "", {})
        gateway = made(engines.nats_url, keyring.nats_seed(engines.root, "mcp-gateway"))
        await gateway.start()
        yield gateway, grants
        await gateway.end()


def made(nats_url: str, seed: str) -> Gateway:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"NATS_URL": nats_url, "NATS_SEED": seed, "HTTP_PORT": str(port)}
    url = f"http://127.0.0.1:{port}"
    settings |= {"PUBLIC_URL": url, "LOG_LEVEL": "ERROR"}
    return Gateway(url, {**os.environ, **{f"STYX_{k}": v for k, v in settings.items()}})


def bridge(gateway: Gateway, token: str = TOKEN, ring: str = "") -> Client:
    env = {"STYX_URL": gateway.url, "STYX_TOKEN": token, "STYX_KEYRING": ring}
    return Client(
        StdioServerParameters(command=sys.executable, args=["-c", BRIDGE], env=env),
        read_timeout_seconds=60,
    )


async def held_call(
    client: Client, tool: str, arguments: dict[str, Any]
) -> tuple[asyncio.Task[Any], list[str]]:
    said: list[str] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        said.append(message or "")

    await client.list_tools()  # or the SDK asks for them when the result comes
    held = asyncio.create_task(client.call_tool(tool, arguments, progress_callback=hear))
    await until(lambda: bool(said))
    return held, said


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


@pytest.fixture
def gateway(stack: tuple[Gateway, Grants]) -> Gateway:
    return stack[0]


@pytest.fixture
def grants(stack: tuple[Gateway, Grants]) -> Grants:
    stack[1].access.clear()
    return stack[1]


async def test_a_stdio_client_asks_and_is_told_when_a_person_decides(
    gateway: Gateway, grants: Grants
) -> None:
    async with bridge(gateway) as client:
        assert client.protocol_version == "2025-11-25"
        assert "acme" in (client.instructions or "")
        assert "list_targets" in {tool.name for tool in (await client.list_tools()).tools}
        assert (await client.call_tool("list_targets", {})).structured_content == {"targets": []}
        held, said = await held_call(client, "request_access", WANTED)
        (grant_id,) = grants.access
        assert said[0].endswith(f"approve it at {gateway.url}/grants/{grant_id}")
        await grants.decide(grant_id)
        assert (await held).structured_content["status"] == "active"


async def test_a_stop_answers_pending_and_the_same_bridge_goes_on_after_the_start(
    gateway: Gateway, grants: Grants
) -> None:
    async with bridge(gateway) as client:
        held, _ = await held_call(client, "request_access", WANTED)
        await gateway.end()
        pending = (await held).structured_content
        assert pending["status"] == "pending"
        later = asyncio.create_task(
            client.call_tool("check_grant", {"grantId": pending["grantId"]})
        )
        await grants.decide(pending["grantId"])
        await gateway.start()
        assert (await later).structured_content["status"] == "active"


async def test_a_held_call_outlives_a_kill(gateway: Gateway, grants: Grants) -> None:
    async with bridge(gateway) as client:
        held, said = await held_call(client, "request_access", WANTED)
        await gateway.end(signal.SIGKILL)
        await gateway.start()
        await until(lambda: len(said) > 1)
        (grant_id,) = grants.access
        assert not held.done()
        await grants.decide(grant_id)
        assert (await held).structured_content["status"] == "active"


async def test_a_wrong_token_is_refused_before_anything(gateway: Gateway) -> None:
    with pytest.raises((MCPError, ExceptionGroup)) as refused:  # the SDK wraps it or doesn't
        async with bridge(gateway, "FIXTURE-wrong"):
            pass
    text = "".join(traceback.format_exception(refused.value))
    assert "this token is not of a running task (code -32002)" in text


@pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing())
async def test_ssh_by_a_socket_that_no_message_held_the_key_of(
    gateway: Gateway, grants: Grants, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory(prefix="sx") as folder, SshHost(tmp_path) as host:
        ring = Keyring(Path(folder))
        grants.certify = host.certify
        grant_id = grants.standing(new_id("grt"), "active", decided_by="user").grant_id
        with ring.in_background():
            async with bridge(gateway, ring=str(ring.path)) as client:
                made = await client.call_tool("get_credential", {"grantId": grant_id})
                got = made.structured_content
                assert got["kind"] == "ssh-agent"
                assert got["env"] == {"SSH_AUTH_SOCK": got["socketPath"]}
                assert await logs_in(host, got["socketPath"])
            assert not await logs_in(host, got["socketPath"])


async def logs_in(host: SshHost, agent: str) -> bool:
    done = await asyncio.to_thread(
        subprocess.run,
        host.command("echo", "in"),
        env={"PATH": os.environ["PATH"], "SSH_AUTH_SOCK": agent},
        capture_output=True,
        timeout=30,
    )
    return done.stdout == b"in\n"
