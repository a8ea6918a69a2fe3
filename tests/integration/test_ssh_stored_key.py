"""A host that can't trust a CA: its key lies in Vault, the agent logs in through a socket."""

import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from stack_fixture import Agent, Living, an_agent, living
from styx_cli.testing_ssh import SshHost

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing() or "-"),
]


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "key"
    words = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path))
    subprocess.run(words, check=True)
    return path


@pytest.fixture(scope="module")
def host(key: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshHost]:
    folder = tmp_path_factory.mktemp("old-host")
    with SshHost(folder, key=key.with_suffix(".pub").read_text().strip()) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(here: Living, host: SshHost, key: Path) -> AsyncIterator[Agent]:
    words = ["targets", "connect", "old", "--provider", "ssh", "--env", "staging"]
    words += ["--method", "key", "--file", f"private_key={key}", "--set", f"user={host.user}"]
    words += ["--set", f"port={host.port}", "--set", "host=127.0.0.1"]
    done = await here.styx(*words, owner=True)
    assert done.code == 0, done.err
    async with an_agent(here.data) as one:
        yield one


async def approved(here: Living) -> str:
    """The one request that waits, approved for an hour."""
    request = await here.pending()
    said = await here.styx("approve", request["id"], "--yes", "--for", "1h", owner=True)
    assert said.code == 0, said.err
    return str(request["id"])


async def test_ssh_logs_in_while_the_grant_lives(
    here: Living, agent: Agent, host: SshHost, key: Path
) -> None:
    held = agent.run(*host.command("echo", "in"), target="old")
    grant = await approved(here)
    done = await held
    assert (done.code, done.out) == (0, "in\n"), done.err
    again = await agent.run(*host.command("echo", "again"), target="old")
    assert (again.code, again.out) == (0, "again\n"), again.err

    headers = {"Authorization": f"Bearer {agent.token}"}
    async with httpx.AsyncClient(base_url=here.stack.url, headers=headers, timeout=30) as http:
        body = {"tool": "ssh", "argv": host.command("true")[1:], "target": "old"}
        answer = await http.post("/v1/exec", json=body)
        call = answer.json()
        assert call["identity"] == key.with_suffix(".pub").read_text().strip()
        assert (call["certificate"], call["scoped"], call["revocable"]) == (None, False, "hard")
        secret = key.read_text().splitlines()[2]
        assert secret not in answer.text
        path = f"/v1/exec/{call['exec_id']}/sign"
        other = await http.post(path, json={"data": "U1NIU0lH"})
        assert (other.status_code, other.json()["code"]) == (403, "forbidden")
        assert (await here.styx("revoke", grant, owner=True)).code == 0
        ended = await http.post(path, json={"data": "U1NIU0lH"})
        assert (ended.status_code, ended.json()["code"]) == (409, "grant_over")
        unknown = await http.post(f"/v1/exec/{grant.replace('grt', 'exe')}/sign", json={"data": ""})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_grant")


async def test_the_key_is_in_no_file_of_the_stack(here: Living, agent: Agent, key: Path) -> None:
    lines = [
        line.encode() for line in key.read_text().splitlines()[2:-1]
    ]  # the first is alike in all
    found = [
        file
        for file in here.data.rglob("*")
        if file.is_file() and any(line in file.read_bytes() for line in lines)
    ]
    assert found == []
