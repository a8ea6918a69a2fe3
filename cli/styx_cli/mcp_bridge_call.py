"""One request of the client under way through the bridge. Standard library only."""

import socket
import threading
from contextlib import suppress

from styx_cli.mcp_bridge_http import Message

REPEATABLE = (
    *("list_targets", "check_grant", "request_access", "ask_user"),
    *("report_status", "list_sessions", "inbox"),
)
"""Tools that a second call changes nothing with: a request or question that waits, or is live, is
found again. Only a grant for one command may be spent in between."""


class Call:
    """One request under way."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.over = threading.Event()
        self.told = 0.0
        self._before = 0.0
        self._socket: socket.socket | None = None

    def opened(self, connection: socket.socket) -> None:
        """It goes over this connection now; its progress counts on from where it was."""
        self._socket, self._before = connection, self.told
        if self.over.is_set():
            self.cancel()

    def cancel(self) -> None:
        """End it: the client doesn't want the answer any more."""
        self.over.set()
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def counted(self, message: Message) -> Message:
        """A progress notification whose number goes on growing over reconnects."""
        if message.get("method") != "notifications/progress":
            return message
        self.told = self._before + float(message["params"].get("progress", 0))
        return {**message, "params": {**message["params"], "progress": self.told}}

    def repeatable(self) -> bool:
        """Whether a server that took it already may get it again."""
        if self.message["method"] != "tools/call":
            return True
        return self.tool() in REPEATABLE and self.arguments().get("duration") != "once"

    def tool(self) -> object:
        """The name of the tool that it calls; None if it calls none."""
        called = self.message["method"] == "tools/call"
        return self.message.get("params", {}).get("name") if called else None

    def arguments(self) -> Message:
        """A tool's arguments; what is no such thing is the server's to refuse."""
        given = self.message.get("params", {}).get("arguments")
        return given if isinstance(given, dict) else {}
