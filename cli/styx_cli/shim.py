"""The PATH shim: asks Styx before a wrapped tool runs, then runs the real tool with what it got.

Rules. It runs on every call of every wrapped tool, so it, `shim_wire` and `child` import only
built-in modules (`posix` and not `os`, which alone costs 2 ms). It knows no provider. A secret
goes into the child's environment and nowhere else. stdin, stdout and stderr belong to the tool;
Styx's own words go to stderr as `styx: …` lines.

A tool is of the kind `env` (variables are all that it gets) or `ssh-agent` (a key is made for the
call in the task's keyring, and a certificate for it comes with the answer).

Exit codes: the tool's own (and its own death by a signal), or
69 Styx can't be reached or read · 75 undecided, or Styx went away · 77 denied · 78 no task here ·
126 the real tool can't be started · 127 there is no real tool · 130 Ctrl-C while waiting.
"""

import _socket
import posix
import sys

from styx_cli import child
from styx_cli.shim_wire import CONFIG, UNAVAILABLE, Answer, Broker, Env, Stop, ask, report, say

NOT_EXECUTABLE, NOT_FOUND, INTERRUPTED = 126, 127, 130
KEYRING_PATIENCE = 5.0  # seconds


class Key:
    """A key in the task's keyring, alive while this object's connection is."""

    def __init__(self, keyring: bytes) -> None:
        self._control = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        self._control.settimeout(KEYRING_PATIENCE)
        try:
            self._control.connect(keyring)
        except OSError as failure:
            raise Stop(
                CONFIG,
                f"the task's keyring doesn't answer ({failure.strerror}), so there is no key for"
                " this call.\nStart the agent under Styx: styx run -- <agent>",
            ) from None
        self.socket, _, self.public = self._call(b"new").partition(b" ")

    def certify(self, certificate: bytes) -> None:
        """Give the key its certificate. Raises `Stop` when the keyring won't have it."""
        answer = self._call(b"cert %b %b" % (self.socket, certificate))
        if answer != b"ok":
            raise Stop(
                UNAVAILABLE,
                f"the keyring refused the certificate ({answer.decode(errors='replace')});"
                " nothing ran. Run the command again.",
            )

    def lend(self, exec_id: bytes, identity: bytes) -> None:
        """Have the socket offer a key that signs at Styx. Raises `Stop` when it can't."""
        answer = self._call(b"lend %b %b %b" % (self.socket, exec_id, identity))
        if answer != b"ok":
            raise Stop(
                UNAVAILABLE,
                f"the keyring refused the key ({answer.decode(errors='replace')}); nothing ran.",
            )

    def _call(self, line: bytes) -> bytes:
        answer = b""
        try:
            self._control.sendall(line + b"\n")
            while not answer.endswith(b"\n"):
                data = self._control.recv(4096)
                if not data:
                    break
                answer += data
        except OSError:
            answer = b""
        if not answer.endswith(b"\n"):
            raise Stop(CONFIG, "the task's keyring went away. Start the agent again: styx run")
        return answer[:-1]


def run_tool(tool: bytes, kind: str, args: list[bytes], env: Env, own: bytes = b"") -> int:
    """Ask for one call and run it: the status, as `child.wait` gives it.

    `own` is the folder of the shims. Raises `Stop` when nothing ran.
    """
    broker = Broker(env)
    real = child.find_tool(tool, env.get(b"PATH", b"/usr/bin:/bin"), own)
    if real is None:
        raise Stop(
            NOT_FOUND,
            f"{tool.decode(errors='replace')}: not found on PATH behind Styx's shims."
            " Nothing was asked for; install it first.",
        )
    key = Key(_keyring(env)) if kind == "ssh-agent" else None
    answer = ask(broker, [tool, _cwd(env), key.public if key else b"", *args])
    env = answer.changed(env)
    try:
        if key:
            _arm(key, answer, env)
        status = child.wait(child.spawn(real, [tool, *args], env))
    except OSError as failure:
        say(f"{real.decode(errors='replace')} can't be started: {failure.strerror}.")
        status = NOT_EXECUTABLE
    except Stop as stop:
        report(broker, answer.exec_id, stop.code)
        raise
    report(broker, answer.exec_id, child.shell_code(status))
    return status


def _arm(key: Key, answer: Answer, env: Env) -> None:
    """Put the key's socket into `env`; until it is armed it offers nothing, so it's safe."""
    if answer.cert:
        key.certify(answer.cert)
    elif answer.identity:
        key.lend(answer.exec_id, answer.identity)
    env[b"SSH_AUTH_SOCK"] = key.socket


def _keyring(env: Env) -> bytes:
    keyring = env.get(b"STYX_KEYRING", b"")
    if not keyring:
        raise Stop(
            CONFIG,
            "no keyring here: STYX_KEYRING isn't set, so there is no place for this call's key.\n"
            "Start the agent under Styx: styx run -- <agent>",
        )
    return keyring


def _cwd(env: Env) -> bytes:
    try:
        return posix.getcwdb()
    except OSError:  # the folder was deleted under us
        return env.get(b"PWD", b"")


def start(tool: str, kind: str, own: str, args: list[str]) -> None:
    """Be `tool` for the rest of this process. Doesn't return."""
    code = UNAVAILABLE
    try:
        words = [_bytes(word) for word in args]
        status = run_tool(_bytes(tool), kind, words, dict(posix.environ), _bytes(own))
        child.leave(status)
    except Stop as stop:
        say(stop.text)
        code = stop.code
    except KeyboardInterrupt:
        say("stopped waiting, and nothing ran. A request that was made stays open: `styx grants`.")
        code = INTERRUPTED
    posix._exit(code)


def _bytes(word: str) -> bytes:
    """The word exactly as the system gave it (what `os.fsencode` does)."""
    return word.encode(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
