"""Run the real tool as if nobody stood in front of it.

It has the same terminal, process group, signal mask and dispositions that it would have had. What
the terminal sends (Ctrl-C, Ctrl-Z, a new window size) reaches the child by itself and isn't passed
on; what another process sends to us is. When the child stops, we stop; its end is our end.
Built-in modules only: this is part of what the shim runs on every call.
"""

import _signal  # type: ignore[import-not-found]
import posix

MARK = b"# styx shim"
REGULAR_FILE, FILE_TYPE = 0o100000, 0o170000


def _numbers(names: str) -> set[int]:
    return {int(getattr(_signal, "SIG" + name)) for name in names.split()}


WATCHED = _numbers("HUP INT QUIT TERM USR1 USR2 TSTP WINCH CHLD")
FROM_TERMINAL = _numbers("INT QUIT TSTP WINCH")
# Python ignores these two for itself; a child must find them as they were.
RESTORED = _numbers("PIPE XFSZ")
# We die of these as the child did. A signal that dumps core becomes 128+n: one core is enough.
DIES_ALIKE = _numbers("HUP INT PIPE TERM KILL")


def find_tool(tool: bytes, path: bytes, own: bytes = b"") -> bytes | None:
    """The first `tool` on `path` that isn't a shim of Styx; the folder `own` is passed over."""
    for folder in path.split(b":"):
        candidate = (folder or b".") + b"/" + tool
        try:
            is_file = posix.stat(candidate).st_mode & FILE_TYPE == REGULAR_FILE
            if not is_file or (own and _same(folder or b".", own)):
                continue
        except OSError:
            continue
        if posix.access(candidate, posix.X_OK) and not _is_shim(candidate):
            return candidate
    return None


def _same(one: bytes, other: bytes) -> bool:
    a, b = posix.stat(one), posix.stat(other)
    return (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)


def _is_shim(path: bytes) -> bool:
    try:
        file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return False  # may be run but not read: not one of ours, which are readable to their owner
    try:
        return MARK in posix.read(file, 512)
    finally:
        posix.close(file)


def spawn(path: bytes, argv: list[bytes], env: dict[bytes, bytes]) -> int:
    """Start the child and return its pid. From here on our own signals wait for `wait`.

    Raises `OSError` when the file can't be run.
    """
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, WATCHED)
    try:
        return posix.posix_spawn(path, argv, env, setsigmask=mask, setsigdef=RESTORED)
    except OSError:
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        raise


def wait(pid: int) -> int:
    """Wait for the child, passing signals on: its exit code, or minus the signal it died of."""
    while True:
        found, status = posix.waitpid(pid, posix.WNOHANG | posix.WUNTRACED)
        if found and posix.WIFSTOPPED(status):
            posix.kill(posix.getpid(), _signal.SIGSTOP)
            posix.kill(pid, _signal.SIGCONT)
        elif found:
            return posix.waitstatus_to_exitcode(status)
        else:
            number, child_has_it = _next_signal()
            if number != _signal.SIGCHLD and not child_has_it:
                posix.kill(pid, number)


def _next_signal() -> tuple[int, bool]:
    """The next signal, and whether the terminal sent it (then the child has it too)."""
    if not hasattr(_signal, "sigwaitinfo"):  # macOS: take the word of the signal's number
        number = int(_signal.sigwait(WATCHED))
        return number, number in FROM_TERMINAL
    info = _signal.sigwaitinfo(WATCHED)
    return int(info.si_signo), info.si_code > 0  # from the kernel; a process's is 0 or less


def shell_code(status: int) -> int:
    """The status of `wait` in the shell's words: the code, or 128+n for a death by signal n."""
    return status if status >= 0 else 128 - status


def leave(status: int) -> None:
    """End this process as the child ended. Doesn't return."""
    if -status in DIES_ALIKE:
        if -status != _signal.SIGKILL:
            _signal.signal(-status, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, {-status})
        posix.kill(posix.getpid(), -status)
    posix._exit(shell_code(status))
