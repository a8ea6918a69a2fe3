"""Children: ready or failed, supervised, and none left behind."""

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from styx_cli.engines.process import Child, Command, EngineFailed, set_aside

IDLE = "import signal; open({mark!r}, 'w').close(); signal.pause()"


class Stage:
    """A folder in which a child tells that it is up by making a file."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "up"
        self.log = folder / "child.log"

    def child(self, code: str, deadline: float = 30.0, **env: str) -> Child:
        argv = (sys.executable, "-I", "-S", "-c", code.format(mark=str(self.mark)))
        return Child(Command("child", argv, self.log, env), self.is_up, deadline)

    async def is_up(self) -> bool:
        return self.mark.exists()


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def alive(pid: int) -> bool:
    """Whether `pid` runs (a zombie that its parent hasn't looked at doesn't)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_started_is_ready_and_stopped_is_gone(stage: Stage) -> None:
    child = stage.child(IDLE)
    await child.start()
    assert stage.mark.exists()
    assert alive(child.pid)
    await child.stop()
    assert not alive(child.pid)


async def test_a_child_sees_its_own_environment_only(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "FIXTURE-token")
    child = stage.child(
        "import os; print(sorted(os.environ), flush=True);" + IDLE, STYX_KEY="FIXTURE-key"
    )
    await child.start()
    await child.stop()
    printed = stage.log.read_text()
    assert "STYX_KEY" in printed
    assert "VAULT_TOKEN" not in printed
    assert stage.log.stat().st_mode & 0o777 == 0o600
    assert "FIXTURE" not in repr(Command("child", (), stage.log, {"STYX_KEY": "FIXTURE-key"}))


async def test_one_that_ends_at_once_says_why(stage: Stage) -> None:
    child = stage.child("import sys; sys.exit('the disk is full')")
    with pytest.raises(EngineFailed, match=r"(?s)ended with code 1; its log .*the disk is full"):
        await child.start()


async def test_one_that_is_never_ready_is_ended(stage: Stage) -> None:
    child = stage.child("import signal; signal.pause()", deadline=0.3)
    with pytest.raises(EngineFailed, match=r"isn't ready after 0\.3 s"):
        await child.start()
    assert not alive(child.pid)


async def test_a_program_that_is_not_there_is_named(stage: Stage) -> None:
    child = Child(Command("child", ("/no/such/program",), stage.log), stage.is_up)
    with pytest.raises(EngineFailed, match="/no/such/program"):
        await child.start()


async def test_one_that_dies_is_started_again(stage: Stage) -> None:
    child = stage.child(IDLE)
    await child.start()
    first = child.pid
    stage.mark.unlink()
    os.kill(first, signal.SIGKILL)
    await until(lambda: child.restarts == 1 and stage.mark.exists())
    assert child.pid != first
    await child.stop()
    assert not alive(child.pid)


async def test_one_that_cannot_restart_is_tried_until_it_can(stage: Stage) -> None:
    block = stage.mark.with_name("block")
    child = stage.child(f"import os, sys; os.path.exists({str(block)!r}) and sys.exit(3);" + IDLE)
    await child.start()
    block.touch()
    stage.mark.unlink()
    os.kill(child.pid, signal.SIGKILL)
    await until(lambda: child.restarts >= 2)
    block.unlink()
    await until(stage.mark.exists)
    await child.stop()
    assert not alive(child.pid)


async def test_one_that_will_not_end_is_made_to(stage: Stage) -> None:
    child = stage.child("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + IDLE)
    await child.start()
    await child.stop(grace=0.2)
    assert not alive(child.pid)


async def test_stopping_twice_or_before_the_start_is_nothing(stage: Stage) -> None:
    child = stage.child(IDLE)
    await child.stop()
    await child.start()
    await child.stop()
    await child.stop()
    assert not alive(child.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
async def test_a_killed_parent_leaves_no_child(stage: Stage, tmp_path: Path) -> None:
    script = textwrap.dedent(f"""
        import asyncio, pathlib, sys
        from styx_cli.engines.process import Child, Command
        idle = (sys.executable, "-I", "-S", "-c", "import signal; signal.pause()")
        async def ready(): return True
        async def main():
            child = Child(Command("child", idle, pathlib.Path({str(stage.log)!r})), ready)
            await child.start()
            print(child.pid, flush=True)
            await asyncio.Event().wait()
        asyncio.run(main())
    """)
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    await parent.wait()
    await until(lambda: not alive(pid))


def test_a_log_that_grew_is_set_aside(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    set_aside(log)
    log.write_text("12345")
    set_aside(log, limit=5)
    assert log.exists()
    set_aside(log, limit=4)
    assert not log.exists()
    assert (tmp_path / "x.log.1").read_text() == "12345"
