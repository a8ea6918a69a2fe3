"""`styx run` and `styx wrap` as processes: a task from its start to its end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from styx_cli.commands.run import runtime_folder
from styx_cli.owner_token import new_secret
from styx_cli.testing import ADMIN, TOKEN, Call, FakeBroker, fields
from styx_cli.testing_ssh import SshHost

RUN = [sys.executable, "-c", "from styx_cli.commands.run import app; app()"]
WRAP = [sys.executable, "-c", "from styx_cli.commands.wrap import app; app()"]


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as fake:
        yield fake


@pytest.fixture
def env(
    broker: FakeBroker, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    runtime = tmp_path_factory.mktemp("r")
    tools = tmp_path / "tools"
    tools.mkdir()
    acme = tools / "acme"
    acme.write_text('#!/bin/sh\necho "acme: $ACME_TOKEN $*"\nexit 3\n')
    acme.chmod(0o755)
    return {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "STYX_URL": broker.url,
        "STYX_ADMIN_TOKEN": ADMIN,
        "XDG_RUNTIME_DIR": str(runtime),
    }


def start(env: dict[str, str], *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [*RUN, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(env: dict[str, str], *words: str) -> tuple[int, str, str]:
    process = start(env, *words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_a_task_from_start_to_end(broker: FakeBroker, env: dict[str, str]) -> None:
    broker.strip, broker.quiet = ["ACME_TOKEN"], {"ACME_QUIET": "1"}
    agent = 'acme rm x; echo "$? $ACME_QUIET ${STYX_ADMIN_TOKEN-none} ${ACME_TOKEN-none}"; exit 9'
    words = ("--project", "acme", "--agent", "claude", "--", "sh", "-c", agent)
    code, out, err = run(env | {"ACME_TOKEN": "FIXTURE-standing"}, *words)
    assert (code, out) == (9, "acme: FIXTURE-acme rm x\n3 1 none none\n")
    assert err.splitlines() == [
        "styx: task tsk_1 in project prj_acme; acme go through Styx",
        "styx: task tsk_1 ended; what it held is dead",
    ]
    (task,) = broker.tasks
    assert {"project": "acme", "agent": "claude", "name": "sh"}.items() <= task.items()
    assert broker.reports == [("exe_1", b"exit=3")]
    assert broker.ended == ["tsk_1"]
    assert list(Path(env["XDG_RUNTIME_DIR"]).iterdir()) == []


def test_the_agents_own_options_are_its_own(env: dict[str, str]) -> None:
    assert run(env, "echo", "--project", "--help")[:2] == (0, "--project --help\n")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["/nonexistent/agent"], 127, "command not found"),
        (["sh", "-c", "kill -TERM $$"], -15, "ended"),
        (["sh", "-c", "ulimit -c 0; kill -SEGV $$"], 139, "ended"),
    ],
)
def test_the_task_ends_however_the_agent_ended(
    broker: FakeBroker, env: dict[str, str], words: list[str], code: int, said: str
) -> None:
    got, _, err = run(env, "--", *words)
    assert got == code
    assert said in err
    assert broker.ended == ["tsk_1"]


def test_a_signal_reaches_the_agent_and_the_task_still_ends(
    broker: FakeBroker, env: dict[str, str]
) -> None:
    agent = "trap 'exit 8' TERM; echo up; for i in $(seq 400); do sleep 0.05; done"
    process = start(env, "--", "sh", "-c", agent)
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 8
    assert broker.ended == ["tsk_1"]


def test_no_admin_token_no_task(broker: FakeBroker, env: dict[str, str]) -> None:
    code, out, err = run(env | {"STYX_ADMIN_TOKEN": new_secret()}, "echo", "ran")
    assert (code, out) == (78, "")
    assert (
        err == "styx: Not signed in.\nstyx: The token isn't known.\nstyx: Set STYX_ADMIN_TOKEN.\n"
    )


def test_a_tool_that_cannot_be_a_file_is_refused(broker: FakeBroker, env: dict[str, str]) -> None:
    broker.tools = {"../sh": "env"}
    code, out, err = run(env, "echo", "ran")
    assert (code, out) == (78, "")
    assert "'../sh'" in err
    assert broker.ended == ["tsk_1"]


def test_a_folder_too_long_for_sockets_is_not_used(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 60)
    long.mkdir()
    with runtime_folder({"XDG_RUNTIME_DIR": str(long)}) as folder:
        assert long not in folder.parents
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_wrap_makes_one_call(broker: FakeBroker, env: dict[str, str]) -> None:
    def wrap(*words: str, **more: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*WRAP, *words], env=env | more, capture_output=True, text=True)

    done = wrap("acme", "--help", STYX_TOKEN=TOKEN)
    assert (done.returncode, done.stdout) == (3, "acme: FIXTURE-acme --help\n")
    assert broker.calls[0].args == [b"--help"]
    assert wrap("acme").returncode == 78
    assert wrap("/bin/acme", STYX_TOKEN=TOKEN).returncode == 2
    done = wrap("acme", STYX_TOKEN=TOKEN, STYX_TOOLS="acme=ssh-agent")
    assert (done.returncode, done.stdout) == (78, "")
    assert "STYX_KEYRING" in done.stderr


@pytest.mark.skipif(bool(SshHost.missing()), reason=SshHost.missing())
def test_ssh_through_the_shim_to_a_real_host(
    broker: FakeBroker, env: dict[str, str], tmp_path: Path
) -> None:
    with SshHost(tmp_path) as host:

        def script(call: Call) -> Iterable[bytes]:
            certificate = host.certify(call.public_key.decode())
            yield fields("exec=exe_2", f"cert={certificate}", "verdict=run")

        broker.script, broker.tools = script, {"ssh": "ssh-agent"}
        code, out, err = run(env, "--", *host.command("echo", "in;", "exit", "4"))
        assert (code, out) == (4, "in\n"), err
        assert broker.reports == [("exe_2", b"exit=4")]
        broker.script = lambda call: [fields("exec=exe_3", "verdict=run")]
        assert run(env, "--", *host.command("echo", "in"))[:2] == (255, "")
