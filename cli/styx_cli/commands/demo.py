"""`styx demo`: one agent's calls, all the way, on real parts."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False)


@app.command()
def demo(
    data: Annotated[Path | None, typer.Option(help="keep its data here")] = None,
) -> None:
    """Play the whole story with a stack, an account and a host of its own; exit 0 if it held."""
    from styx_cli.demo.story import demo as play

    raise typer.Exit(0 if asyncio.run(play(data)) else 1)
