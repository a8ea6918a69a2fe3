"""`styx mcp`: the MCP server for clients that start a command; `mcp_bridge` does the work."""

import os
from typing import Annotated

import typer

from styx_cli.mcp_bridge import serve

app = typer.Typer(add_completion=False)


@app.command()
def mcp(
    server: Annotated[str, typer.Option(help="Styx's address, instead of STYX_URL.")] = "",
    token: Annotated[
        str,
        typer.Option(
            help="The task's token, instead of STYX_TOKEN; other users of this machine can see "
            "an option, so prefer the variable."
        ),
    ] = "",
    channel: Annotated[
        bool,
        typer.Option("--channel", help="Push what happens to the task into a Claude Code session."),
    ] = False,
) -> None:
    """Speak MCP on stdin and stdout, for an agent that `styx run` started."""
    raise typer.Exit(serve(server, token, os.environ, channel))
