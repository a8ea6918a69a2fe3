"""`styx completion SHELL`: the script that completes `styx` in a shell."""

from enum import StrEnum
from typing import Annotated

import typer
from typer._completion_shared import get_completion_script

app = typer.Typer(add_completion=False)


class Shell(StrEnum):
    """The shells that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help='eval "$(styx completion bash)"')],
) -> None:
    """Print a completion script: put it where your shell reads such, or eval it."""
    print(get_completion_script(prog_name="styx", complete_var="_STYX_COMPLETE", shell=shell))
