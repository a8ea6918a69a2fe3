"""The embedded stack as a process of its own: progress, what a person needs, and a clean end."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from styx_core import garbage, telemetry
from styx_core.errors import StyxError
from styx_core.keyring import KeyFileError
from styx_core.redact import redactor
from styx_core.settings import Settings
from styx_core.vault import VaultError

from styx_cli.engines.binaries import BinaryMissing
from styx_cli.engines.ports import PortTaken
from styx_cli.engines.process import EngineFailed
from styx_cli.stack import Stack, StackSettings, running_stack

Say = Callable[[str], None]
WONT_START = (
    *(BinaryMissing, EngineFailed, KeyFileError, PortTaken, StyxError, VaultError),
    *(OSError, RuntimeError, TimeoutError, ValueError, LookupError),
)
"""What a start may end with, each with a text for the person."""


async def serve(folder: Path, ports: dict[str, int], say: Say) -> None:
    """Run the stack on a folder until SIGINT or SIGTERM."""
    base = Settings().model_copy(update={"local_environ": dict(os.environ)})
    telemetry.log_as_json(redactor(), base.log_level)
    telemetry.trace_to(None, base.otlp_endpoint, base.trace_sample)
    garbage.calm()
    end = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end.set)
    settings = StackSettings(folder, ports, base=base)
    async with running_stack(settings, lambda part: say(f"· {part}")) as stack:
        say(welcome(stack, folder))
        await end.wait()


def welcome(stack: Stack, folder: Path) -> str:
    """What the one who started it needs to know; ends with an empty line."""
    styx = Path(sys.executable).parent / "styx"
    lines = [f"Styx is at {stack.url} (data in {folder})"]
    if stack.admin_link:
        lines += [
            f"Admin link, for once: {stack.admin_link}",
            "  open it in a browser: it makes your passkey, and you are the owner; or claim it",
            "  with `styx login`, then set STYX_ADMIN_TOKEN to what that prints",
        ]
    lines += [
        f"Connect Claude Code:  claude mcp add styx -- {styx} mcp",
        f"  and start it under Styx:  {styx} run -- claude",
        "",
    ]
    return "\n".join(lines)
