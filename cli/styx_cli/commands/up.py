"""`styx up`: start Styx on this machine, in the foreground or (`--detach`) to leave it running."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from styx_cli.client import data_folder, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.local import read_stack, until

app = typer.Typer(add_completion=False)

START_SECONDS = 60.0


@app.command()
def up(
    detach: Annotated[bool, typer.Option("--detach", "-d", help="leave it running")] = False,
    data: Annotated[Path | None, typer.Option(help="the data folder (STYX_DATA)")] = None,
    http_port: Annotated[int, typer.Option(envvar="STYX_HTTP_PORT", help="0: a free one")] = 0,
    nats_port: Annotated[int, typer.Option(envvar="STYX_NATS_PORT", help="0: a free one")] = 0,
    vault_port: Annotated[int, typer.Option(envvar="STYX_VAULT_PORT", help="0: a free one")] = 0,
) -> None:
    """Start the embedded stack; its data stays in one folder and survives restarts."""
    folder = (data or data_folder(os.environ)).absolute()
    ports = {"http": http_port, "nats": nats_port, "bao": vault_port}
    chosen = {name: port for name, port in ports.items() if port}
    with plain_errors():
        running = read_stack(folder)
        if running is not None:
            raise Failure(f"Styx runs here already, at {running.url}.", Exit.USAGE)
        if detach:
            detached(folder, chosen)
        else:
            foreground(folder, chosen)


def foreground(folder: Path, ports: dict[str, int]) -> None:
    """Run until SIGINT or SIGTERM. Raises `Failure`."""
    import uvloop

    from styx_cli.serving import WONT_START, serve

    try:
        uvloop.run(serve(folder, ports, say))
    except WONT_START as error:
        raise Failure(f"Styx could not start: {error}", Exit.UNAVAILABLE) from error


def detached(folder: Path, ports: dict[str, int]) -> None:
    """Start another process that stays, and tell what the person needs. Raises `Failure`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "logs").mkdir(mode=0o700, exist_ok=True)
    log = folder / "logs" / "styx.log"
    words = [sys.executable, "-m", "styx_cli", "up", "--data", str(folder)]
    names = {"http": "--http-port", "nats": "--nats-port", "bao": "--vault-port"}
    words += [f"{names[name]}={port}" for name, port in ports.items()]
    read, write = os.pipe()
    with log.open("ab") as out:
        child = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=out,
            start_new_session=True,
        )
    os.close(write)
    started = until(lambda: child.poll() is not None or read_stack(folder), START_SECONDS)
    if not started or child.poll() is not None:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        raise Failure(f"Styx did not start; {log} says why{_last(log)}", Exit.UNAVAILABLE)
    with os.fdopen(read, "r") as said:
        for line in iter(said.readline, ""):
            if line == "\n":
                break
            print(line, end="")


def _last(log: Path) -> str:
    """What a start said last, where it said it in our words."""
    lines = log.read_text(errors="replace").splitlines()
    last = lines[-1].removeprefix("styx: ") if lines and lines[-1].startswith("styx: ") else ""
    return f":\n{last}" if last else "."


def say(text: str) -> None:
    """One line of progress."""
    print(text, flush=True)
