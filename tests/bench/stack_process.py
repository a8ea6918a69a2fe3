"""`styx up` as a process of its own, with a provider that mints at once, furnished for a bench."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from styx_cli.approver import Approver
from styx_cli.client import Address, Client
from styx_cli.commands.login import claim
from styx_cli.commands.policy import put
from styx_cli.connecting import connect
from styx_cli.engines.binaries import find
from styx_cli.owner_token import new_secret, raw
from styx_core import signing

STUB = '''
"""A provider that mints at once."""

from datetime import timedelta

from styx_adapters.adapter import Connected, Ended, Minted
from styx_core.provider import Method, Provider
from styx_core.scope import Scope
from styx_core.tool import Tool

PROVIDER = Provider(
    id="stub", label="Stub",
    tools=(Tool(name="stub", read=("list",), delete=("rm",)),),
    methods=(Method("none", "nothing", ()),),
    scopes=(Scope.READ, Scope.DELETE), narrows=(Scope.READ, Scope.DELETE), env=("STUB_TOKEN",),
)


class Stub:
    def __init__(self, deps):
        self.now = deps.now

    async def connect(self, method, target_id, config, secret):
        return Connected({"kind": "stub"}, dict(config), "stub")

    async def issue(self, secret, config, want):
        env = {"STUB_TOKEN": "FIXTURE-" + "x" * 700}
        return Minted({"env": env}, self.now() + timedelta(hours=1), True, "hard", {"id": "1"})

    async def revoke(self, secret, config, handle):
        return Ended("hard", "gone")

    async def health(self, secret, config):
        return "stub"


def adapter(deps):
    return Stub(deps)
'''
POLICY = """\
[[rule]]
id = "reads"
effect = "allow"
[rule.match]
scopes = ["read"]
"""


@dataclass
class Process:
    """The stack's process and its address."""

    child: "subprocess.Popen[str]"
    url: str
    link: str


@dataclass
class Furnished:
    """A stack with a project, a target and rules."""

    process: Process
    approver: Approver
    bearer: str

    def task(self) -> str:
        """A new task's token."""
        return str(self.approver.client.call("POST", "/v1/tasks", {"agent": "bench"})["token"])


@contextmanager
def stack_process(folder: Path, **settings: str) -> Iterator[Process]:
    """Start it on this folder, wait until it says that it is ready, and end it."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("STYX_")}
    env = {**kept, "STYX_LOG_LEVEL": "ERROR", **settings}
    words = [sys.executable, "-m", "styx_cli", "up", "--data", str(folder)]
    child = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        said = list(iter(child.stdout.readline, "\n"))
        if not said or child.poll() is not None:
            raise RuntimeError("styx up did not start")
        url = next(line.split()[3] for line in said if line.startswith("Styx is at "))
        link = next((line.split()[-1] for line in said if line.startswith("Admin link")), "")
        yield Process(child, url, link)
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait()


@contextmanager
def furnished(folder: Path, **settings: str) -> Iterator[Furnished]:
    """A stack whose only own target is the stub's."""
    site = folder / "site"
    info = site / "styx_stub-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: styx-stub\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[styx.providers]\nstub = styx_stub\n")
    (site / "styx_stub.py").write_text(STUB)
    more = {"PYTHONPATH": str(site), "STYX_CALLS_PER_MINUTE": "100000000", **settings}
    with stack_process(folder / "data", **more) as process:
        secret = new_secret()
        claim(process.link, secret, "owner")
        known = raw(secret)
        bearer = signing.bearer(known)
        approver = Approver(known, Client(Address(process.url), bearer))
        project = approver.client.call("POST", "/v1/projects", {"name": "bench"})
        about: dict[str, Any] = {"provider": "stub", "method": "none", "config": {}, "secret": {}}
        connect(approver, project, name="place", env="staging", **about)
        put(approver, project["id"], POLICY)
        yield Furnished(process, approver, bearer)
        approver.client.close()


@contextmanager
def floor_process() -> Iterator[str]:
    """The same hops with empty handlers (`floor_server`), on a nats-server of its own; its URL."""
    with tempfile.TemporaryDirectory() as folder:
        server = Path(__file__).with_name("floor_server.py")
        words = [sys.executable, str(server), str(find("nats-server")), folder]
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.communicate(timeout=20)
