"""One call, all the way: `styx run`, the real shims, the real `aws` and `ssh`, a real stack."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from stack_fixture import Agent, Living, an_agent, finished, living, surroundings, until
from styx_cli.testing_ssh import SshHost

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

HELD = {
    "AWS_ACCESS_KEY_ID": "AKIAFIXTUREPERSONKEY",
    "AWS_SECRET_ACCESS_KEY": "FIXTURE-the-persons-own-secret",
    "AWS_PROFILE": "FIXTURE-profile",
    "SSH_AUTH_SOCK": "/nowhere/FIXTURE-agent.sock",
}
NEEDS_SSHD = pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing())
LIST = ("aws", "s3", "ls", "s3://releases")


def remove(name: str) -> tuple[str, ...]:
    return ("aws", "s3", "rm", f"s3://releases/{name}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("stack") / "data") as stack:
        yield stack


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path("/tmp") / f"sx{os.getpid()}"  # a socket's path must be short
    folder.mkdir(mode=0o700)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def agent(here: Living, runtime: Path) -> AsyncIterator[Agent]:
    async with an_agent(here.data, XDG_RUNTIME_DIR=str(runtime), **HELD) as one:
        yield one
    assert not list(runtime.iterdir()), "the task's folder is gone with it"
    runtime.rmdir()


@pytest.fixture
def short_wait(here: Living) -> Iterator[None]:
    """A broker that holds a call for half a second only."""
    deps = here.stack.running["broker"].app.state.deps  # type: ignore[union-attr]
    usual = deps.settings
    deps.settings = usual.model_copy(update={"wait_seconds": 0.5})
    yield
    deps.settings = usual


def api(here: Living, agent: Agent) -> httpx.AsyncClient:
    """The agent's own HTTP, past the shims."""
    headers = {"Authorization": f"Bearer {agent.token}"}
    return httpx.AsyncClient(base_url=here.stack.url, headers=headers, timeout=30)


async def test_two_targets_fit_and_one_must_be_named(agent: Agent) -> None:
    done = await agent.run(*LIST)
    assert done.code == 77
    assert all(word in done.err for word in ("STYX_TARGET", "staging", "prod"))
    unknown = await agent.run(*LIST, target="nowhere")
    assert (unknown.code, "nowhere" in unknown.err) == (64, True)


async def test_no_credential_is_there_before_or_after(
    here: Living, agent: Agent, runtime: Path
) -> None:
    before = dict(agent.environ)
    assert not HELD.keys() & before.keys(), "the person's own are stripped"
    assert "FIXTURE" not in "".join(before.values())
    done = await agent.run(*LIST, target="staging")
    assert (done.code, "app-1.1.tgz" in done.out) == (0, True), done.err
    assert agent.environ == before
    for path in runtime.rglob("*"):
        held = path.read_bytes() if path.is_file() else b""
        assert b"ASIA" not in held, path
        assert b"PRIVATE KEY" not in held, path


async def test_a_read_is_allowed_by_policy_at_once(here: Living, agent: Agent) -> None:
    assert (await agent.run(*LIST, target="staging")).code == 0
    assert (await agent.run(*LIST)).code == 0, "the target of the live grant is meant"
    grant = (await here.grants("active"))[0]
    assert (grant["decided_by"], grant["because"]) == ("policy", ["staging-reads"])


async def test_a_delete_on_prod_waits_and_goes_on_when_a_person_approves(
    here: Living, agent: Agent
) -> None:
    held = agent.run(*remove("app-1.0.tgz"), target="prod")
    request = await here.pending()
    assert request["scopes"] == ["delete"]
    assert not held.done()
    refused = await here.styx("approve", request["id"], "--yes")
    assert (refused.code, "STYX_ADMIN_TOKEN" in refused.err) == (78, True), "nobody's word"
    said = await here.styx("approve", request["id"], "--yes", "--for", "15m", owner=True)
    assert said.code == 0, said.err
    assert "s3 rm s3://releases/app-1.0.tgz" in said.out, "what runs is shown exactly"
    done = await held
    assert done.code == 0, done.err
    assert "waits for a person" in done.err
    assert f"styx approve {request['id']}" in done.err
    listed = await agent.run(*LIST, target="staging")
    assert "app-1.0.tgz" not in listed.out
    assert "app-1.1.tgz" in listed.out


async def test_a_denied_call_exits_77_and_says_why(here: Living, agent: Agent) -> None:
    held = agent.run("aws", "s3", "rb", "s3://releases", target="staging")
    request = await here.pending()
    said = await here.styx("deny", request["id"], "--reason", "the bucket stays", owner=True)
    assert said.code == 0, said.err
    done = await held
    assert done.code == 77
    assert "the bucket stays" in done.err
    again = await here.styx("approve", request["id"], "--yes", owner=True)
    assert again.code == 77
    assert "owner" in again.err, "the second decider is told who was first"


@pytest.mark.usefixtures("short_wait")
async def test_an_undecided_call_exits_75_and_its_request_stays_open(
    here: Living, agent: Agent
) -> None:
    words = ("aws", "s3", "mb", "s3://made-later")
    done = await agent.run(*words, target="staging")
    assert done.code == 75
    assert "stays open" in done.err
    request = await here.pending()
    again = await agent.run(*words, target="staging")
    assert again.code == 75
    assert [g["id"] for g in await here.grants("pending")] == [request["id"]], "no second one"
    assert (await here.styx("approve", request["id"], "--yes", owner=True)).code == 0
    third = await agent.run(*words, target="staging")
    assert (third.code, "waits" in third.err) == (0, False), third.err


async def test_a_commands_own_exit_code_is_kept(here: Living, agent: Agent) -> None:
    words = ("aws", "s3", "ls", "s3://no-such-bucket")
    real = await finished(*words, env=surroundings(here.data, **await keys(here, agent)))
    assert real.code not in (0, 69, 75, 77, 78)
    assert (await agent.run(*words, target="staging")).code == real.code
    assert (await agent.run("styx", "wrap", *words, target="staging")).code == real.code
    whole = await here.styx("run", "--", "sh", "-c", "exit 7")
    assert whole.code == 7


async def keys(here: Living, agent: Agent, *words: str, target: str = "staging") -> dict[str, str]:
    """A live grant's credential, as the shim gets it."""
    argv = list(words or LIST[1:])
    async with api(here, agent) as http:
        headers = {"Styx-Target": target}
        body = {"tool": "aws", "argv": argv, "target": target}
        answer = await http.post("/v1/exec", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["env"])


async def test_a_revoke_kills_what_was_kept(here: Living, agent: Agent) -> None:
    kept = surroundings(here.data, **await keys(here, agent))
    assert (await finished(*LIST, env=kept)).code == 0
    grant = next(g for g in await here.grants("active") if g["decided_by"] == "policy")
    said = await here.styx("revoke", grant["id"], "--reason", "enough")
    assert (said.code, "denies everything" in said.out) == (0, True), said.err
    dead = await finished(*LIST, env=kept)
    assert (dead.code != 0, "AccessDenied" in dead.err) == (True, True), dead
    assert (await agent.run(*LIST, target="staging")).code == 0, "a new grant, a new session"


async def test_what_prints_a_credential_is_refused(agent: Agent) -> None:
    done = await agent.run("aws", "configure", "export-credentials", target="staging")
    assert done.code == 77
    assert "outlive its grant" in done.err


async def test_a_command_that_is_not_utf8_or_not_known_asks_for_everything(
    here: Living, agent: Agent
) -> None:
    async with api(here, agent) as http:
        kind = {"Content-Type": "application/x-styx-exec"}
        answer = await http.post("/v1/exec", content=b"aws\0/\0\0s3\0\xff\xfe", headers=kind)
        assert answer.status_code == 422
        assert "argument 2 is not UTF-8" in answer.json()["detail"]
        unknown = await http.post("/v1/exec", json={"tool": "acme", "argv": []})
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_tool")


@NEEDS_SSHD
async def test_ssh_runs_with_a_certificate_for_that_command_alone(
    here: Living, agent: Agent
) -> None:
    host = here.place.host
    assert host is not None
    held = agent.run(*host.command("echo", "one"))
    request = await here.pending()
    said = await here.styx("approve", request["id"], "--yes", "--for", "once", owner=True)
    assert said.code == 0, said.err
    done = await held
    assert (done.code, done.out) == (0, "one\n"), done.err
    assert request["id"] in [g["id"] for g in await here.grants("spent")], "its command has run"
    again = agent.run(*host.command("echo", "one"))
    assert (await here.styx("deny", (await here.pending())["id"], owner=True)).code == 0
    assert (await again).code == 77, "a second run asks anew"


@NEEDS_SSHD
async def test_a_once_certificate_runs_no_other_command(
    here: Living, agent: Agent, tmp_path: Path
) -> None:
    host = here.place.host
    assert host is not None
    key = tmp_path / "key"
    made = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    assert (await finished(*made, env=surroundings(here.data))).code == 0
    body = {
        "tool": "ssh",
        "argv": host.command("echo", "granted")[1:],
        "public_key": key.with_suffix(".pub").read_text().strip(),
    }
    async with api(here, agent) as http:
        call = asyncio.create_task(http.post("/v1/exec", json=body))
        request = await here.pending()
        said = await here.styx("approve", request["id"], "--yes", "--for", "once", owner=True)
        assert said.code == 0, said.err
        answer = (await call).json()
    certificate = tmp_path / "key-cert.pub"
    certificate.write_text(answer["certificate"] + "\n")
    options = ["-i", str(key), "-o", f"CertificateFile={certificate}"]
    for words in (("echo", "other"), ("rm", "-rf", "/nowhere"), ()):
        ssh, *rest = host.command(*words)
        done = await finished(ssh, *options, *rest, env=surroundings(here.data))
        assert done.out == "granted\n", "sshd runs what the certificate says, whatever is asked"
    assert not await revoked(here, certificate)
    assert (await here.styx("revoke", request["id"], owner=True)).code == 0
    assert await revoked(here, certificate), "what a host fetches says so at once"


async def revoked(here: Living, certificate: Path) -> bool:
    """Whether the list that Styx publishes for hosts names this certificate."""
    async with httpx.AsyncClient(base_url=here.stack.url) as anyone:
        krl = certificate.with_name("list.krl")
        krl.write_bytes((await anyone.get("/ssh/krl")).content)
    query = ("ssh-keygen", "-Q", "-f", str(krl), str(certificate))
    return "REVOKED" in (await finished(*query, env=surroundings(here.data))).out


async def test_a_call_loses_every_providers_variables_but_its_own(
    here: Living, agent: Agent
) -> None:
    async with api(here, agent) as http:
        body = {"tool": "aws", "argv": ["s3", "ls"], "target": "staging"}
        answer = (await http.post("/v1/exec", json=body)).json()
    gone = {"AWS_PROFILE", "GH_TOKEN", "VERCEL_TOKEN", "SUPABASE_ACCESS_TOKEN", "SSH_AUTH_SOCK"}
    assert gone | {"CLOUDSDK_AUTH_ACCESS_TOKEN"} <= set(answer["unset"])
    assert answer["env"].keys().isdisjoint(answer["unset"])


async def test_a_tool_called_past_its_shim_is_noticed_and_gets_nothing(
    here: Living, agent: Agent
) -> None:
    real = Path(sys.executable).parent / "aws"
    done = await agent.run(str(real), "s3", "ls", target="staging")
    assert done.code != 0, "it holds no credential"

    async def noticed() -> bool:
        log = await here.styx("audit", "log", "--json", owner=True)
        return "tool_bypassed" in log.out and '"aws"' in log.out

    await until(noticed)
