"""SSH credentials in the bridge: the key lives in the task's keyring, never in a message.

`get_credential` gets the public half of a fresh key; a certificate that comes back is handed to
the keyring, and the agent is given the socket that signs with it. Standard library only.
"""

import contextlib
import json
import socket
import time
from typing import Any

CERTIFICATE = "STYX_SSH_CERTIFICATE"
SECONDS = 5.0
LONGEST_LINE = 64 * 1024


class KeyringFailed(Exception):
    """The keyring of `styx run` didn't do what it was asked; the text says why."""


class Ring:
    """One fresh key. It goes when this connection closes, or when its certificate ends."""

    def __init__(self, path: str) -> None:
        """Make the key. Raises `KeyringFailed`."""
        if not hasattr(socket, "AF_UNIX"):
            raise KeyringFailed("this system has no unix sockets, so no keyring")
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line.settimeout(SECONDS)
        self._file = self._line.makefile("rwb")
        self.ends = 0.0
        try:
            self._line.connect(path)
            self.socket_path, _, self.public_key = self._ask("new").partition(" ")
        except (OSError, KeyringFailed) as error:
            self.close()
            raise KeyringFailed(f"the task's keyring can't be reached ({error})") from error

    def arm(self, certificate: str, ends: float) -> None:
        """Let the socket sign with it until `ends` (epoch seconds). Raises `KeyringFailed`."""
        self._ask(f"cert {self.socket_path} {certificate}")
        self.ends = ends

    def close(self) -> None:
        """Forget the key."""
        with contextlib.suppress(OSError):  # what was still to be said to a dead line
            self._file.close()
        self._line.close()

    def _ask(self, line: str) -> str:
        try:
            self._file.write(line.encode() + b"\n")
            self._file.flush()
            reply = self._file.readline(LONGEST_LINE).decode().rstrip("\n")
        except (OSError, ValueError) as error:
            raise KeyringFailed(f"the task's keyring went away ({error})") from error
        if not reply or reply.startswith("error"):
            raise KeyringFailed(f"the task's keyring said: {reply or 'nothing'}")
        return reply


class Keyring:
    """The keys whose certificates are out."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._armed: list[Ring] = []

    def prepare(self, arguments: dict[str, Any]) -> tuple[dict[str, Any], Ring | None]:
        """The arguments with a public key, and its ring; as they are where that can't be."""
        if not self._path or "publicKey" in arguments:
            return arguments, None
        try:
            ring = Ring(self._path)
        except KeyringFailed:
            return arguments, None  # the call may be about no SSH target at all
        return {**arguments, "publicKey": ring.public_key}, ring

    def finish(self, result: dict[str, Any], ring: Ring) -> dict[str, Any]:
        """A result for the agent: a certificate becomes the socket that signs with it."""
        fields = result.get("structuredContent")
        if not isinstance(fields, dict) or CERTIFICATE not in fields.get("env", {}):
            ring.close()
            return result
        certificate = fields["env"][CERTIFICATE]
        self._forget_ended()
        try:
            ring.arm(str(certificate), (fields["expiresAt"] or 0) / 1000)
        except KeyringFailed as failed:
            ring.close()
            return refused(str(failed))
        self._armed.append(ring)
        env = {k: v for k, v in fields["env"].items() if k != CERTIFICATE}
        env["SSH_AUTH_SOCK"] = ring.socket_path
        made = {**fields, "env": env, "socketPath": ring.socket_path}
        content = [{"type": "text", "text": json.dumps(made, ensure_ascii=False)}]
        return {**result, "structuredContent": made, "content": content}

    def _forget_ended(self) -> None:
        now = time.time()
        for ring in [ring for ring in self._armed if ring.ends <= now]:
            ring.close()
            self._armed.remove(ring)


def refused(text: str) -> dict[str, Any]:
    """A tool's result that says no: clients show the model a JSON-RPC error badly."""
    return {"content": [{"type": "text", "text": text}], "isError": True}
