"""The real `vercel` with what Styx issues and nothing else, against the account being played."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from styx_adapters.adapter import Adapter, Minted
from styx_adapters.api import Api
from styx_adapters.providers import vercel
from styx_core.ids import new_id
from vercel_case import Played, vercel_account, wanted
from vercel_server import ACME, API, OTHER, WEB

REPOSITORY = Path(__file__).parents[4]
PROC = Path("/proc")
CLI = REPOSITORY / ".venv/clis/node_modules/.bin/vercel"

pytestmark = pytest.mark.skipif(
    not (CLI.exists() and shutil.which("node")),
    reason="needs node, and vercel@58.10.0 from npm in .venv/clis",
)


@pytest.fixture
def played() -> Iterator[Played]:
    with vercel_account() as made:
        yield made


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    made = Api()
    yield made
    await made.close()


@dataclass(frozen=True)
class Machine:
    """An agent's machine; the CLI knows the API's address from its `config.json` there."""

    home: Path

    def run(self, env: Mapping[str, str], *words: str) -> tuple[int, str]:
        """The CLI's exit code and all that it printed."""
        given = {"PATH": os.environ["PATH"], "HOME": str(self.home), **vercel.PROVIDER.quiet}
        done = subprocess.run(
            [CLI, *words],
            env={**given, **env},
            cwd=self.home / "site",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        return done.returncode, (done.stdout.strip() or done.stderr)


@pytest.fixture
def machine(played: Played, tmp_path: Path) -> Machine:
    """A home with an agent's own login to the same account, which must never be used."""
    folder = tmp_path / ".local/share/com.vercel.cli"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"api": played.url}))
    own = played.account.add("agents")
    (folder / "auth.json").write_text(json.dumps({"token": own}))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("a page")
    return Machine(tmp_path)


@dataclass(frozen=True)
class Target:
    """A connected target, with a token that was issued for it."""

    adapter: Adapter
    secret: dict[str, str]
    config: dict[str, str]
    minted: Minted

    @property
    def env(self) -> dict[str, str]:
        """What the CLI is given."""
        return dict(self.minted.secret["env"])


async def issued(played: Played, api: Api, **place: str) -> Target:
    """A target of this place."""
    case = played.case({"token": played.account.add("full")}, api, **place)
    connected = await case.adapter.connect("token", new_id("tgt"), case.config, case.secret)
    minted = await case.adapter.issue(case.secret, connected.config, wanted())
    return Target(case.adapter, case.secret, connected.config, minted)


async def test_the_cli_works_with_a_team_s_token_alone_and_after_a_revoke_no_more(
    played: Played, api: Api, machine: Machine
) -> None:
    target = await issued(played, api, team=ACME)
    used: set[str] = set()
    played.account.seen = lambda call: used.add(call.bearer)
    assert machine.run(target.env, "whoami") == (0, "jane")
    code, out = machine.run(target.env, "project", "ls")
    assert (code, "web" in out, "away" in out) == (0, True, False)
    assert used == {target.env["VERCEL_TOKEN"]}
    ended = await target.adapter.revoke(target.secret, target.config, target.minted.handle)
    assert ended.outcome == "hard"
    used.clear()
    for words in (("whoami",), ("project", "ls")):
        code, out = machine.run(target.env, *words)
        assert (code, "not valid" in out) == (1, True)
    assert used == {target.env["VERCEL_TOKEN"]}, "not the agent's own login instead"


async def test_a_project_s_token_deploys_that_project_and_reads_no_other(
    played: Played, api: Api, machine: Machine
) -> None:
    env = (await issued(played, api, project=WEB)).env
    code, out = machine.run(env, "deploy", "--yes")
    assert (code, played.account.deployed) == (0, ["web"]), out
    code, out = machine.run(env, "api", f"/v9/projects/{WEB}")
    assert (code, WEB in out) == (0, True)
    code, out = machine.run(env, "api", f"/v9/projects/{API}")
    assert (code, API in out) == (1, False)
    code, out = machine.run({**env, "VERCEL_PROJECT_ID": API}, "deploy", "--yes")
    assert (code, played.account.deployed) == (1, ["web"]), out


async def test_with_a_team_s_reach_the_cli_reads_its_project(
    played: Played, api: Api, machine: Machine
) -> None:
    env = (await issued(played, api, project=WEB, reach="team")).env
    assert env.keys() == {"VERCEL_TOKEN", "VERCEL_ORG_ID", "VERCEL_PROJECT_ID"}
    code, out = machine.run(env, "env", "ls")
    assert (code, "acme/web" in out) == (0, True), out
    # Beside what is issued, the older name of a variable stops the CLI: it has to be stripped.
    code, _ = machine.run({**env, "NOW_ORG_ID": OTHER}, "env", "ls")
    assert code == 1
    assert {*env, "NOW_ORG_ID"} <= set(vercel.PROVIDER.stripped())


@pytest.mark.skipif(not PROC.exists(), reason="argv of processes is read from /proc")
async def test_no_process_has_a_token_in_its_argv(
    played: Played, api: Api, machine: Machine
) -> None:
    """The token goes by the environment alone, to the CLI and to whatever the CLI starts."""
    target = await issued(played, api, team=ACME)
    found: list[str] = []
    played.account.seen = lambda _: found.extend(started())
    assert set(target.minted.secret) == {"env"}
    assert machine.run(target.env, "whoami") == (0, "jane")
    assert [words for words in found if str(CLI) in words and "whoami" in words], "it was seen"
    assert not [words for words in found for token in played.account.tokens if token in words]


def started() -> Iterator[str]:
    """What each process of this machine was started with."""
    for process in PROC.glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # It may end meanwhile.
            yield process.read_bytes().decode(errors="replace").replace("\0", " ")
