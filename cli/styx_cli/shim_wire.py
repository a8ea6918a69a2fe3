"""The shim's side of the wire: one `POST /v1/exec`, its streamed answer, and the report after it.

Request body: `tool NUL cwd NUL public-key NUL arg…`, raw bytes. The answer, whatever its HTTP
status, is a stream of NUL-terminated `name=value` fields: `say=TEXT` for the person's eyes,
`beat=` to show life, `set=NAME=VALUE`, `unset=NAME`, `exec=ID`, `cert=…` or `identity=…` for SSH,
`exit=N`, and `verdict=run|refuse`. The verdict is last and commits what came before it, so a stream
that was cut off can't be taken for an answer; a field that isn't known is refused by its name.
More than `SILENCE` seconds without a field mean that Styx went away.

Imports only built-in modules, as all that the shim runs does; `ssl` only for an https address.
"""

import _socket
import posix

TYPE_CHECKING = False  # importing `typing` for it would cost more than the whole call
if TYPE_CHECKING:
    from collections.abc import Iterator

UNAVAILABLE, UNDECIDED, DENIED, CONFIG = 69, 75, 77, 78
CONNECT, SILENCE, REPORT = 5.0, 60.0, 2.0  # seconds
EXEC_TYPE = b"application/x-styx-exec"

Env = dict[bytes, bytes]


class Stop(Exception):
    """The call ends here: `code` for the shell, `text` (lines) for the person."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def say(text: str) -> None:
    """Write `text` to stderr as `styx: …` lines, with control characters made harmless."""
    for line in text.splitlines():
        clean = "".join(c if c.isprintable() else "?" for c in line)
        try:
            posix.write(2, f"styx: {clean}\n".encode(errors="replace"))
        except OSError:
            return


class Broker:
    """Where Styx is, and as whom to speak to it: read from the task's environment."""

    def __init__(self, env: Env) -> None:
        self.url, token = env.get(b"STYX_URL", b""), env.get(b"STYX_TOKEN", b"")
        if not token or not self.url:
            raise Stop(
                CONFIG,
                "no task here: STYX_TOKEN or STYX_URL isn't set, so this call can't be asked for.\n"
                "Start the agent under Styx: styx run -- <agent>",
            )
        scheme, _, rest = self.url.partition(b"://")
        authority, _, base = rest.partition(b"/")
        host, colon, port = authority.rpartition(b":")
        if not colon or host.count(b"[") != host.count(b"]"):
            host, port = authority, b"443" if scheme == b"https" else b"80"
        good_port = port.isdigit() and len(port) < 6 and 0 < int(port) < 65536
        good_token = all(32 < byte < 127 for byte in token)
        if scheme not in (b"http", b"https") or not (host and good_port and good_token):
            raise Stop(
                CONFIG,
                "STYX_URL or STYX_TOKEN can't be read: they want http(s)://host:port and plain\n"
                "letters. Start the agent again: styx run -- <agent>",
            )
        self.tls, self.host, self.port = scheme == b"https", host.strip(b"[]"), int(port)
        self.base, self.authority, self.token = base.rstrip(b"/"), authority, token
        target = bytes(byte for byte in env.get(b"STYX_TARGET", b"") if 32 < byte < 127)
        self.target = b"Styx-Target: %b\r\n" % target if target else b""

    def connect(self) -> _socket.socket:
        """Open a connection. Raises `Stop(UNAVAILABLE)`: nothing was asked, nothing was issued."""
        problem: Exception | None = None
        try:
            for family, kind, proto, _, address in _socket.getaddrinfo(
                self.host, self.port, 0, _socket.SOCK_STREAM
            ):
                try:
                    return self._open(family, kind, proto, address)
                except OSError as failure:
                    problem = failure
        except OSError as failure:
            problem = failure
        raise Stop(
            UNAVAILABLE,
            f"Styx can't be reached at {self.url.decode(errors='replace')}"
            f" ({getattr(problem, 'strerror', None) or problem}).\nNothing was issued, and nothing"
            " ran. Start it with `styx up`, or look with `styx status`.",
        )

    def _open(self, family: int, kind: int, proto: int, address: object) -> _socket.socket:
        if self.tls:
            import socket
            import ssl

            plain = socket.socket(family, kind, proto)
            plain.settimeout(CONNECT)
            plain.connect(address)  # type: ignore[arg-type]
            context = ssl.create_default_context()
            return context.wrap_socket(plain, server_hostname=self.host.decode())
        opened = _socket.socket(family, kind, proto)
        opened.settimeout(CONNECT)
        opened.connect(address)  # type: ignore[arg-type]
        return opened

    def post(self, path: bytes, body: bytes, silence: float) -> _socket.socket:
        """Send a request and return the connection, ready to be read.

        A server may answer before it has read the whole body, so a send that breaks off isn't
        an error yet: the answer, or its absence, says what happened.
        """
        trace = posix.urandom(24).hex().encode()
        head = (
            b"POST /%b HTTP/1.0\r\nHost: %b\r\nAuthorization: Bearer %b\r\nContent-Type: %b\r\n"
            b"Accept: %b\r\ntraceparent: 00-%b-%b-01\r\n%bContent-Length: %d\r\n\r\n"
        ) % (
            self.base + b"/" + path if self.base else path,
            *(self.authority, self.token, EXEC_TYPE, EXEC_TYPE, trace[:32], trace[32:]),
            self.target,
            len(body),
        )
        connection = self.connect()
        connection.settimeout(silence)
        try:
            connection.sendall(head + body)
        except OSError:
            return connection
        return connection


PLAIN = {b"exec": "exec_id", b"cert": "cert", b"identity": "identity"}
"""Fields that are kept as they came, and where."""


class Answer:
    """What Styx said: collected field by field until its verdict."""

    def __init__(self, status: int) -> None:
        self.status, self.verdict, self.exit = status, "", DENIED
        self.exec_id = self.cert = self.identity = b""
        self.changes: list[tuple[bytes, bytes | None]] = []

    def take(self, field: bytes) -> None:
        """Take one `name=value` field. Raises `Stop` at one that it doesn't know."""
        name, _, value = field.partition(b"=")
        if name == b"say":
            say(value.decode(errors="replace"))
        elif name == b"set" and value.find(b"=") > 0:
            variable, _, content = value.partition(b"=")
            self.changes.append((variable, content))
        elif name == b"unset" and value and b"=" not in value:
            self.changes.append((value, None))
        elif name in PLAIN:
            setattr(self, PLAIN[name], value.strip())
        elif name == b"exit" and value.isdigit() and 0 < int(value[:4]) < 256:
            self.exit = int(value)
        elif name == b"verdict" and value in (b"run", b"refuse"):
            self.verdict = value.decode()
        elif name != b"beat":
            raise unreadable(f"the field {name[:40].decode(errors='replace')!r}")

    def changed(self, env: Env) -> Env:
        """A copy of `env` with the answer's changes made, in their order."""
        env = dict(env)
        for variable, content in self.changes:
            if content is None:
                env.pop(variable, None)
            else:
                env[variable] = content
        return env


def unreadable(what: str) -> Stop:
    """The error for an answer that this shim doesn't understand."""
    return Stop(
        UNAVAILABLE,
        f"Styx's answer can't be read ({what}), so nothing ran.\n"
        "Check STYX_URL; if Styx was updated, start the agent again: styx run -- <agent>",
    )


def fields(connection: _socket.socket) -> "Iterator[bytes]":
    """Yield the status code's digits, then each whole field as it arrives.

    What isn't ended by its NUL when the connection closes is dropped, never yielded.
    """
    buffer, head = b"", True
    while True:
        try:
            data = connection.recv(65536)
        except OSError:
            return
        if not data:
            return
        buffer += data
        if head:
            top, found, rest = buffer.partition(b"\r\n\r\n")
            if not found:
                continue
            yield top.split(b"\r\n")[0][9:12]
            buffer, head = rest, False
        *whole, buffer = buffer.split(b"\0")
        yield from whole


def ask(broker: Broker, words: list[bytes]) -> Answer:
    """Ask for one call and wait for the verdict. Raises `Stop` for anything but `run`."""
    stream = fields(broker.post(b"v1/exec", b"\0".join(words), SILENCE))
    status = next(stream, b"")
    if not status.isdigit():
        raise gone() if not status else unreadable("it isn't HTTP")
    answer = Answer(int(status))
    for field in stream:
        answer.take(field)
        if answer.verdict:
            break
    if answer.verdict == "run" and answer.status == 200 and answer.exec_id:
        return answer
    if answer.verdict == "refuse":
        raise Stop(answer.exit, "")
    if answer.status == 200 and not answer.verdict:
        raise gone()
    raise unreadable(f"HTTP {answer.status} without a whole verdict")


def gone() -> Stop:
    """The error for a connection that ended before a verdict."""
    return Stop(
        UNDECIDED,
        "Styx went away before it answered: nothing was issued to this command, and nothing ran.\n"
        "A request that it had opened stays open. Run the command again; see `styx status`.",
    )


def report(broker: Broker, exec_id: bytes, code: int) -> None:
    """Tell Styx how the call ended. Best effort: a failure changes nothing and says nothing."""
    if not exec_id.replace(b"-", b"").replace(b"_", b"").isalnum():
        return
    try:
        done = broker.post(b"v1/exec/%b/report" % exec_id, b"exit=%d" % code, REPORT)
        done.recv(16)
    except (OSError, Stop):
        return
