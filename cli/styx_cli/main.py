"""The `styx` command: the bridge starts at once, everything else through the command line."""

import sys

from styx_cli.mcp_bridge import main_fast


def main() -> None:
    """Run the `styx` command line."""
    code = main_fast(sys.argv[1:])
    if code is None:
        from styx_cli.commandline import run

        run(sys.argv[1:])
    sys.exit(code)
