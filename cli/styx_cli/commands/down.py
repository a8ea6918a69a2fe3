"""`styx down`: stop the stack of this machine; its data stays."""

import os
import signal
from pathlib import Path
from typing import Annotated

import typer

from styx_cli.client import data_folder, plain_errors
from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.local import read_stack, until

app = typer.Typer(add_completion=False)


@app.command()
def down(
    data: Annotated[Path | None, typer.Option(help="the data folder (STYX_DATA)")] = None,
) -> None:
    """Stop it: held calls are answered, then every part ends."""
    with plain_errors():
        folder = data or data_folder(os.environ)
        running = read_stack(folder)
        if running is None:
            print(f"No Styx runs on {folder}.")
            return
        os.kill(running.pid, signal.SIGTERM)
        if not until(lambda: read_stack(folder) is None, 30):
            raise Failure(f"process {running.pid} does not end; look at it.", Exit.UNAVAILABLE)
        print("Stopped; the data stays.")
