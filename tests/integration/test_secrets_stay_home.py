"""Planted secrets are found nowhere: not in the stream, a database, a log, a file or an argv.

A stack runs as its own process and logs all it can. Secrets of every kind go through it; then every
byte that it keeps and every command line that it started is searched, while it runs and after.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest
import pytest_asyncio
from stack_fixture import Agent, Living, an_agent, detached, mcp_call
from styx_cli.engines.run import KEY_FILE
from styx_cli.local import read_stack
from styx_cli.owner_token import raw
from styx_cli.stack import BOOTSTRAP, ORDER
from styx_core import keyring, signing
from told_fixture import channel

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="module")]

PASSWORD, STRING, HEADER = "FIXTURE-db-passw0rd", "FIXTURE-secret-string-7", "FIXTURE-bearer-31337"
TOPIC = "FIXTURE-channel-topic-9"
SCHEME = "Authorization: Bearer"
CALLS = (
    ("aws", "rds", "modify-db-instance", "--db-instance-identifier", "d",
     "--master-user-password", PASSWORD),
    ("aws", "secretsmanager", "create-secret", "--name", "n", f"--secret-string={STRING}"),
)  # fmt: skip


@dataclass
class Played:
    """What went through a stack."""

    here: Living
    agent: Agent
    secrets: dict[str, bytes]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def played(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Played]:
    data = tmp_path_factory.mktemp("stack") / "data"
    async with (
        detached(data, STYX_LOG_LEVEL="DEBUG") as here,
        an_agent(data) as agent,
    ):
        await channel(here, {"url": f"json://127.0.0.1:9/{TOPIC}"})
        asked = await mcp_call(
            agent, "request_access", target="staging", scopes=["read"],
            reason=f"with {SCHEME} {HEADER}",
        )  # fmt: skip
        given = await mcp_call(agent, "get_credential", grantId=asked["grantId"])
        await agent.run("aws", "s3", "ls", target="staging")
        for words in CALLS:
            await refused(here, agent, words)
        if here.place.host is not None:
            await refused(here, agent, here.place.host.command(f"curl -H '{SCHEME} {HEADER}' x"))
        yield Played(here, agent, planted(here, agent, given["env"]))


async def refused(here: Living, agent: Agent, words: "tuple[str, ...] | list[str]") -> None:
    """A call with a secret in its words: held, seen by a person, denied."""
    held = agent.run(*words, target="" if words[0] == "ssh" else "staging")
    request = await here.pending()
    shown = json.dumps(request)
    assert words[0] in shown
    assert not [s for s in (PASSWORD, STRING, HEADER) if s in shown], "nor does a person see it"
    assert (await here.styx("deny", request["id"], owner=True)).code == 0
    assert (await held).code == 77


def planted(here: Living, agent: Agent, issued: dict[str, str]) -> dict[str, bytes]:
    """Every secret that there was, by name."""
    owner, root = raw(here.place.secret), keyring.load_or_create(here.data / KEY_FILE)
    _, _, code = (here.stack.admin_link or "").partition("#")
    text = {
        "the target's key": here.place.account["secret_access_key"],
        "a password in argv": PASSWORD,
        "a secret in argv": STRING,
        "a header in argv and in a reason": HEADER,
        "a channel's address": TOPIC,
        "the owner's token": here.place.secret,
        "the owner's bearer": signing.bearer(owner),
        "the admin code": code,
        "the task's token": agent.token,
        "the session's key": issued["AWS_SECRET_ACCESS_KEY"],
        "the session's token": issued["AWS_SESSION_TOKEN"],
        "the seal key": keyring.seal_key(root),
        **{f"NATS's {n}": keyring.nats_seed(root, n) for n in (*ORDER, BOOTSTRAP)},
        **{f"Vault's {n}": keyring.secret_id(root, n) for n in ("adapters", "audit")},
    }
    assert all(len(each) > 15 for each in text.values())
    found = {name: each.encode() for name, each in text.items()}
    return {**found, "the owner's secret": owner}


def forms(secret: bytes) -> set[bytes]:
    """How a secret may stand: plain, in base64, in hex, percent-encoded, in JSON."""
    encoded = {base64.b64encode(secret).rstrip(b"=")[:-1], secret.hex().encode()}
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        return {secret, *encoded}
    return {secret, *encoded, quote(text, safe="").encode(), json.dumps(text).encode()[1:-1]}


def seen(content: bytes, secrets: dict[str, bytes]) -> list[str]:
    return [name for name, each in secrets.items() if any(f in content for f in forms(each))]


def files(data: Path) -> Iterator[Path]:
    for path in sorted(data.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield path


def family(pid: int) -> Iterator[int]:
    """A process and all that it started."""
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from family(int(child))


def search(data: Path, secrets: dict[str, bytes]) -> None:
    found = {str(path): seen(path.read_bytes(), secrets) for path in files(data)}
    assert {path: names for path, names in found.items() if names} == {}


async def test_the_search_looks_everywhere_and_finds_what_is_there(played: Played) -> None:
    names = {path.name for path in files(played.here.data)}
    databases = {f"{service}.db" for service in ("audit", "broker", "grants")}
    logs = {"styx.log", "nats.log", "bao.log", "bao-audit.log"}
    assert databases | logs | {"stack.json", "nats.conf", "bao.hcl", KEY_FILE} <= names
    blocks = [p for p in files(played.here.data) if p.suffix == ".blk"]
    story = b"".join(path.read_bytes() for path in blocks)
    assert b"modify-db-instance" in story, "the stream's files can be read"
    assert seen(b"x" + base64.b64encode(PASSWORD.encode()), {"p": PASSWORD.encode()}) == ["p"]


async def test_nothing_is_kept_while_it_runs(played: Played) -> None:
    await asyncio.to_thread(search, played.here.data, played.secrets)


async def test_no_command_line_holds_one(played: Played) -> None:
    local = read_stack(played.here.data)
    assert local is not None
    lines = {}
    for top in (local.pid, played.agent.process.pid):
        for pid in family(top):
            lines[pid] = Path(f"/proc/{pid}/cmdline").read_bytes()
    assert any(b"nats-server" in line for line in lines.values())
    assert any(b"bao" in line for line in lines.values())
    assert {line: seen(line, played.secrets) for line in lines.values()} == {
        line: [] for line in lines.values()
    }


async def test_what_is_shown_and_exported_holds_none(played: Played) -> None:
    here = played.here
    exported = await here.styx("audit", "export")
    assert "modify-db-instance" in exported.out
    for words in (("audit", "log", "--json", "--limit", "500"), ("grants", "--json"), ("status",)):
        exported_too = await here.styx(*words)
        assert seen((exported_too.out + exported_too.err).encode(), played.secrets) == []
    assert seen(exported.out.encode(), played.secrets) == []
    tokens = re.findall(rb"\b(?:hvs|s)\.[A-Za-z0-9]{24,}", exported.out.encode())
    assert tokens == []


async def test_nothing_is_kept_after_it_ended(played: Played) -> None:
    """Last: the stack stops, and its databases and stores are written out."""
    assert (await played.here.styx("down")).code == 0
    await asyncio.to_thread(search, played.here.data, played.secrets)
