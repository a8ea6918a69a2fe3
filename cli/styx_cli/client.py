"""The HTTP client that the `styx` commands share: where the broker is, and plain words for errors.

The address: an embedded stack on this machine (its unix socket, named in `<data>/run/stack.json`),
else `STYX_URL`. The bearer derives
from `STYX_ADMIN_TOKEN` when set, which itself is never sent. A request is tried again only when the
connection failed before anything was sent.
"""

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from styx_cli.exits import Exit
from styx_cli.failure import Failure
from styx_cli.owner_token import raw

# Seconds; a held call may be silent for minutes, a connect may not.
TIMEOUT, CONNECT_TIMEOUT, CONNECT_TRIES = 30.0, 5.0, 4

EXIT_OF_STATUS = {
    400: Exit.USAGE,
    401: Exit.CONFIG,
    403: Exit.DENIED,
    404: Exit.USAGE,
    409: Exit.DENIED,
    422: Exit.USAGE,
}


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """The edge of a command: a `Failure` goes to stderr in plain words, its code to the shell.

    So does a file that can't be read or written, under its name.
    """
    try:
        yield
    except Failure as failure:
        for line in failure.text.splitlines():
            print(f"styx: {''.join(c if c.isprintable() else '?' for c in line)}", file=sys.stderr)
        raise SystemExit(failure.code) from None
    except OSError as wrong:
        if wrong.filename is None:
            raise
        print(f"styx: {wrong.filename}: {wrong.strerror}", file=sys.stderr)
        raise SystemExit(Exit.USAGE) from None


@dataclass(frozen=True, slots=True)
class Address:
    """Where the broker is: `url` names it, `socket` (a path) is the way there when it's local."""

    url: str
    socket: str | None = None


def data_folder(environ: Mapping[str, str]) -> Path:
    """The folder of the embedded stack: STYX_DATA, or `styx` under the XDG data home."""
    if environ.get("STYX_DATA"):
        return Path(environ["STYX_DATA"])
    home = environ.get("HOME") or str(Path.home())
    return Path(environ.get("XDG_DATA_HOME") or f"{home}/.local/share") / "styx"


def find_broker(environ: Mapping[str, str]) -> Address:
    """The broker that these settings mean. Raises `Failure` when there is none to be found."""
    path = data_folder(environ) / "run" / "stack.json"
    try:
        stack = json.loads(path.read_text())
        socket = stack.get("socket")
        return Address(url=str(stack["url"]), socket=None if socket is None else str(socket))
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as wrong:
        raise Failure(
            f"{path} can't be read ({type(wrong).__name__}). It is written by `styx up`: stop"
            " the stack with `styx down` and start it again.",
            Exit.CONFIG,
        ) from None
    if environ.get("STYX_URL"):
        return Address(url=environ["STYX_URL"])
    raise Failure(
        f"no Styx is known here: there is no {path}, and STYX_URL isn't set.\n"
        "Start one with `styx up`, or set STYX_URL to your team's broker.",
        Exit.CONFIG,
    )


class Client:
    """Calls the broker; each answer is its JSON, each error a `Failure`."""

    def __init__(self, address: Address, token: str = "") -> None:
        import httpx  # slow to import: only a command that really calls pays for it

        self.address = address
        with self._reached():
            self._http = httpx.Client(
                base_url=address.url,
                transport=httpx.HTTPTransport(
                    verify=not address.url.startswith("http:"),  # 60 ms, and nothing to verify
                    uds=address.socket,
                    retries=CONNECT_TRIES - 1,
                ),
                timeout=httpx.Timeout(TIMEOUT, connect=CONNECT_TIMEOUT),
                headers={"Authorization": f"Bearer {token}"} if token else {},
            )

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "Client":
        """The client that these settings mean. Raises `Failure`."""
        owner = environ.get("STYX_ADMIN_TOKEN", "")
        return cls(find_broker(environ), _bearer(owner) if owner else "")

    def call(self, method: str, path: str, body: object = None, **query: Any) -> Any:
        """One request; `body` goes as JSON, `query` as parameters. Raises `Failure`."""
        query = {name: value for name, value in query.items() if value is not None}
        with self._reached():
            reply = self._http.request(method, path, json=body, params=query)
        return self._read(reply.status_code, reply.content)

    @contextlib.contextmanager
    def _reached(self) -> Iterator[None]:
        import httpx

        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise Failure(
                f"Styx can't be reached at {self.address.url} ({error}).\n"
                "Start it with `styx up`, or look with `styx status`.",
                Exit.UNAVAILABLE,
            ) from None
        except (httpx.InvalidURL, httpx.UnsupportedProtocol):
            raise Failure(
                f"{self.address.url!r} is no address: say http(s)://host:port. Check STYX_URL.",
                Exit.CONFIG,
            ) from None
        except httpx.HTTPError as error:
            raise Failure(
                f"Styx at {self.address.url} didn't answer ({type(error).__name__}).\n"
                "What was asked may have been done: look before you repeat it.",
                Exit.UNAVAILABLE,
            ) from None

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a long answer, as they come. Raises `Failure`."""
        with self._reached(), self._http.stream("GET", path) as reply:
            if reply.status_code >= 400:
                self._read(reply.status_code, reply.read())
            for line in reply.iter_lines():
                yield f"{line}\n"

    def _read(self, status: int, content: bytes) -> Any:
        try:
            answer = json.loads(content) if content else None
        except ValueError:
            raise Failure(
                f"{self.address.url} answered HTTP {status} with something that isn't Styx's."
                " Check STYX_URL.",
                Exit.UNAVAILABLE,
            ) from None
        if status < 400:
            return answer
        problem = answer if isinstance(answer, dict) else {}
        raise Failure(words(problem, status), exit_code(status), problem)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _bearer(owner_token: str) -> str:
    """What the broker is shown: it tells nothing of the token that it derives from."""
    from styx_core.signing import bearer

    return bearer(raw(owner_token))


def words(problem: Mapping[str, Any], status: int) -> str:
    """A problem (RFC 9457) as a person reads it: what happened, why, what to do next."""
    said = [str(problem[key]) for key in ("title", "detail", "hint") if problem.get(key)]
    return "\n".join(dict.fromkeys(said)) or f"Styx answered HTTP {status} and no reason."


def exit_code(status: int) -> Exit:
    """The exit code for an HTTP error."""
    return EXIT_OF_STATUS.get(status, Exit.USAGE if status < 500 else Exit.UNAVAILABLE)
