"""The exit codes of the `styx` command and of its shims: declared here, once.

A wrapped command keeps its own exit code; these are said only when Styx itself stops a call.
They follow BSD's `sysexits.h` (64 to 78) and the shell's own words (126, 127, 130).
`shim.py` imports nothing and repeats the numbers; a test keeps the two equal.
"""

from enum import IntEnum


class Exit(IntEnum):
    """A code for the shell; `MEANING` says each in words."""

    OK = 0
    USAGE = 64
    UNAVAILABLE = 69
    UNDECIDED = 75
    DENIED = 77
    CONFIG = 78
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    INTERRUPTED = 130


MEANING: dict[Exit, str] = {
    Exit.OK: "done",
    Exit.USAGE: "the command line or an argument is wrong",
    Exit.UNAVAILABLE: "Styx can't be reached, or its answer can't be read",
    Exit.UNDECIDED: "nobody has decided yet (the request stays open), or Styx went away meanwhile",
    Exit.DENIED: "the request was denied, or the token doesn't allow this",
    Exit.CONFIG: "a setting is missing or wrong: no task, no token, no keyring",
    Exit.NOT_EXECUTABLE: "the real tool is there but can't be started",
    Exit.NOT_FOUND: "the real tool isn't on PATH",
    Exit.INTERRUPTED: "stopped by Ctrl-C while waiting (the request stays open)",
}
