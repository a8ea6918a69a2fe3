"""Calls that name a host and a command for it, as ssh(1) reads them. Pure.

Options may stand before the host and, once more, right after it; then come the words that are
joined by blanks and sent to the host's shell.
"""

from collections.abc import Sequence

from styx_core.tool import Tool


def host(tool: Tool, argv: Sequence[str]) -> str | None:
    """The host that a call names, without user and port; None where it names none."""
    rest = _after_options(tool, argv)
    if not rest:
        return None
    name = rest[0].rpartition("@")[2]
    if rest[0].startswith("ssh://"):
        name = name.removeprefix("ssh://").partition("/")[0].partition(":")[0]
    return name or None


def remote_command(tool: Tool, argv: Sequence[str]) -> str | None:
    """What is sent to the host's shell; None for an interactive one."""
    rest = _after_options(tool, argv)
    command = " ".join(_after_options(tool, rest[1:]) or ()) if rest else ""
    return command if command.strip() else None


def _after_options(tool: Tool, argv: Sequence[str]) -> Sequence[str] | None:
    """What follows the options; None after one that isn't known: it may take the next word."""
    takes_value = {flag[1] for flag in tool.values if len(flag) == 2}
    known = takes_value | {flag[1] for flag in tool.switches if len(flag) == 2}
    place = 0
    while place < len(argv) and len(argv[place]) > 1 and argv[place][0] == "-":
        word = argv[place]
        place += 1
        if word == "--":
            break
        taker = next((at for at, letter in enumerate(word) if at and letter in takes_value), None)
        if not known.issuperset(word[1:taker]):
            return None
        if taker == len(word) - 1:
            place += 1
    return argv[place:]
