"""`styx run -- <agent>`: a task for as long as the agent runs, on the same terminal.

The agent finds the shims first on its PATH and none of its person's credentials in its
environment. When it exits, the task ends and with it all that it held; its exit code is ours.
"""

import base64
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from styx_cli import child
from styx_cli.bypass import Lookout, real_paths
from styx_cli.client import Address, Client, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.keyring_agent import Keyring
from styx_cli.shims import write_shims, write_styx
from styx_cli.ssh_agent_wire import Refused
from styx_cli.task_env import Task, agent_environment

app = typer.Typer(add_completion=False)

# A unix socket's path is cut at 104 bytes (macOS) or 108 (Linux); our names need 50 of them.
LONGEST_BASE = 50


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    command: Annotated[list[str], typer.Argument(help="The agent's command, after `--`.")],
    project: Annotated[str | None, typer.Option(help="Project; may be left out.")] = None,
    name: Annotated[str | None, typer.Option(help="What this task is about.")] = None,
    agent: Annotated[str | None, typer.Option(help="Which agent; default: its command.")] = None,
) -> None:
    """Run an agent as a Styx task: its aws, ssh and the like go through Styx."""
    asked = {
        "project": project or os.environ.get("STYX_PROJECT"),
        "agent": agent or Path(command[0]).name,
        "name": name or Path(command[0]).name,
        "branch": current_branch(),
    }
    with plain_errors():
        client = Client.from_environ(os.environ)
        body = {key: value for key, value in asked.items() if value is not None}
        task = Task.parse(client.call("POST", "/v1/tasks", body), client.address.url)
        with ended_task(client, task), runtime_folder(os.environ) as folder:
            status = run_agent(command, task, folder)
    child.leave(status)


def run_agent(command: list[str], task: Task, folder: Path) -> int:
    """Run `command` as the agent of `task`, with `folder` for its shims and sockets.

    Returns its status as `child.wait` does. Raises `Failure` when it can't be started.
    """
    shims = folder / "bin"
    try:
        write_shims(shims, task.tools)
        write_styx(shims)
    except ValueError as wrong:
        raise Failure(f"the broker named a tool that can't be: {wrong}", Exit.CONFIG) from None
    keyring = Keyring(folder, signer=signer(task))
    env = agent_environment(os.environ, task, str(shims), str(keyring.path))
    tool = shutil.which(command[0], path=env["PATH"])
    if tool is None:
        raise Failure(f"{command[0]}: command not found. Is it on PATH?", Exit.NOT_FOUND)
    tools = ", ".join(sorted(task.tools)) or "nothing"
    say(f"task {task.id} in project {task.project}; {tools} go through Styx")
    try:
        pid = child.spawn(
            os.fsencode(tool),
            [os.fsencode(word) for word in command],
            {os.fsencode(key): os.fsencode(value) for key, value in env.items()},
        )
    except OSError as wrong:
        raise Failure(f"{tool} can't be started: {wrong.strerror}.", Exit.NOT_EXECUTABLE) from None
    real = real_paths(task.tools, env["PATH"], str(shims))
    with keyring.in_background(), Lookout(pid, real, str(shims), notice(task)).watching():
        return child.wait(pid)


def signer(task: Task) -> Callable[[str], Callable[[bytes], bytes]]:
    """Signs a call's logins with its target's key, which lies in Styx."""

    def of_call(exec_id: str) -> Callable[[bytes], bytes]:
        def sign(data: bytes) -> bytes:
            client = Client(Address(task.url), task.token)
            try:
                body = {"data": base64.b64encode(data).decode()}
                made = client.call("POST", f"/v1/exec/{exec_id}/sign", body)
                return base64.b64decode(made["signature"])
            except Failure as failure:
                say(f"a login was not signed: {failure.text}")
                raise Refused from None
            finally:
                client.close()

        return sign

    return of_call


def notice(task: Task) -> Callable[[str], None]:
    """Puts a tool that ran past its shim on the task's record."""
    client = Client(Address(task.url), task.token)

    def tell(tool: str) -> None:
        with contextlib.suppress(Failure):
            client.call("POST", "/v1/bypasses", {"tool": tool})

    return tell


@contextlib.contextmanager
def ended_task(client: Client, task: Task) -> Iterator[None]:
    """End the task when the block is left, however it is left."""
    try:
        yield
    finally:
        try:
            client.call("POST", f"/v1/tasks/{task.id}/end")
            say(f"task {task.id} ended; what it held is dead")
        except Failure as failure:
            say(f"task {task.id} could not be ended: {failure.text}")
            say("its grants end by their own time; end it now with `styx revoke` or on the web")
        client.close()


@contextlib.contextmanager
def runtime_folder(environ: Mapping[str, str]) -> Iterator[Path]:
    """A fresh 0700 folder for scripts and sockets, removed afterwards. Raises `Failure`."""
    bases = [environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp"]  # noqa: S108
    base = next((base for base in bases if base and _fit(base)), None)
    if base is None:
        raise Failure(
            "no folder for the task's shims and sockets: none of XDG_RUNTIME_DIR, TMPDIR and /tmp"
            " is writable, allows programs, and is short enough. Set XDG_RUNTIME_DIR to one.",
            Exit.CONFIG,
        )
    folder = Path(tempfile.mkdtemp(prefix="styx-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fit(base: str) -> bool:
    if len(os.fsencode(base)) > LONGEST_BASE or not os.access(base, os.W_OK | os.X_OK):
        return False
    return not os.statvfs(base).f_flag & getattr(os, "ST_NOEXEC", 0)


def current_branch() -> str | None:
    """The git branch of the working folder, if it's on one."""
    try:
        done = subprocess.run(
            ["git", "symbolic-ref", "--quiet", "--short", "HEAD"],
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def say(text: str) -> None:
    """One line of ours on stderr."""
    print(f"styx: {text}", file=sys.stderr, flush=True)
