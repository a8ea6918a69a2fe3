"""Where the demo plays: an AWS account (moto), an SSH host (a real sshd), and a stack connected to
both. Everything ends with it."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from styx_core import signing
from styx_core.ids import new_id

from styx_cli.approver import Approver
from styx_cli.client import Client, find_broker
from styx_cli.commands.login import claim
from styx_cli.commands.policy import put
from styx_cli.connecting import connect
from styx_cli.owner_token import new_secret, raw
from styx_cli.stack import Stack
from styx_cli.testing_ssh import SshHost

Say = Callable[[str], None]

POLICY = """\
# Agents may look around on staging; everything else asks a person.
[[rule]]
id = "staging-reads"
effect = "allow"
max_seconds = 900
[rule.match]
env = ["staging"]
scopes = ["read"]
"""


@dataclass
class Place:
    """A furnished stack."""

    approver: Approver
    secret: str
    project: dict[str, Any]
    account: dict[str, str]
    host: SshHost | None
    no_host: str


@contextmanager
def aws_account() -> Iterator[dict[str, str]]:
    """moto with AWS's session rules, in a process of its own; what a target needs to know."""
    words = [sys.executable, "-m", "styx_cli.demo.account", "0"]
    child = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        if child.stdout is None:
            raise RuntimeError("the account has no voice")
        yield json.loads(child.stdout.readline())
    finally:
        child.communicate(timeout=20)


@asynccontextmanager
async def furnished(stack: Stack, data: Path, say: Say) -> AsyncIterator[Place]:
    """Claim the stack, connect both targets, put the rules."""
    secret = new_secret()
    await asyncio.to_thread(claim, stack.admin_link or "", secret, "owner")
    known = raw(secret)
    client = Client(find_broker({"STYX_DATA": str(data)}), signing.bearer(known))
    approver = Approver(known, client)
    say("an AWS account, played by moto over HTTP")
    with contextlib.ExitStack() as played:
        account = await asyncio.to_thread(played.enter_context, aws_account())
        project = await asyncio.to_thread(client.call, "POST", "/v1/projects", {"name": "shop"})
        for name, env in (("staging", "staging"), ("prod", "prod")):
            await asyncio.to_thread(connect_aws, approver, project, account, name, env)
        host = await asyncio.to_thread(ssh_host, played, approver, project, data, say)
        await asyncio.to_thread(put, approver, project["id"], POLICY)
        no_host = "" if host else SshHost.missing()
        yield Place(approver, secret, project, account, host, no_host)
    client.close()


def connect_aws(
    approver: Approver, project: dict[str, Any], account: dict[str, str], name: str, env: str
) -> None:
    """One env of the account as a target; its key is sealed before it leaves here."""
    connect(
        approver,
        project,
        name=name,
        provider="aws",
        env=env,
        method="role",
        config={
            "role_arn": account["role_arn"],
            "endpoint": account["endpoint"],
            "deny_policy": "yes",
        },
        secret={key: account[key] for key in ("access_key_id", "secret_access_key")},
    )


def ssh_host(
    played: contextlib.ExitStack,
    approver: Approver,
    project: dict[str, Any],
    data: Path,
    say: Say,
) -> SshHost | None:
    """A real sshd that trusts the CA in our Vault; None where this machine can't run one."""
    if missing := SshHost.missing():
        say(f"no SSH host: {missing}; that part is left out")
        return None
    say("an SSH host, played by a real sshd on loopback")
    folder = data / "sshd"
    folder.mkdir(mode=0o700)
    target_id = new_id("tgt")
    ca = approver.client.call("GET", "/v1/catalog")["public"]["ssh_ca"]
    host = played.enter_context(SshHost(folder, ca, target_id))
    connect(
        approver,
        project,
        name="web",
        provider="ssh",
        env="staging",
        method="ca",
        config={"host": "127.0.0.1", "port": str(host.port), "user": host.user},
        secret={},
        target_id=target_id,
    )
    return host
