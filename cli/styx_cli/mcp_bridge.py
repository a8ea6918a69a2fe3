"""`styx mcp`: MCP on stdin and stdout, for clients that start a command, over the gateway's HTTP.

Standard library only, so that it answers within a fifth of a second. One JSON-RPC message a line.
A request is one POST and runs in a thread of its own. The server keeps no session, so the client's
notifications end here; `notifications/cancelled` closes the request's connection. While the server
is away each call waits for it; one that it may have taken already is repeated only where that
changes nothing. It speaks the protocol up to 2025-11-25. With `--channel`, `mcp_bridge_channel`
pushes what happens to the task.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import BinaryIO

from styx_cli.exits import Exit
from styx_cli.mcp_bridge_call import Call
from styx_cli.mcp_bridge_channel import Channel
from styx_cli.mcp_bridge_http import Away, Message, Refused, Server, exchange
from styx_cli.mcp_bridge_keyring import Keyring, refused

NEWEST = "2025-11-25"
LONGEST_LINE = 1024 * 1024
RECONNECT = 25.0
"""Seconds that a call waits for a server that is away; clients give a start up after 30."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
GRACE = 2.0
"""Seconds that calls under way get once stdin has closed."""
PARSE, INVALID, NO_METHOD, FAILED = -32700, -32600, -32601, -32010


class Bridge:
    """Between a client's pipes and the server."""

    def __init__(
        self, server: Server, keyring: str, pipes: tuple[BinaryIO, BinaryIO], channel: bool = False
    ) -> None:
        self._server, self._keyring = server, Keyring(keyring)
        self._source, self._sink = pipes
        self._channel = Channel(server, self._send) if channel else None
        self._writing = threading.Lock()
        self._calls: dict[str | int, Call] = {}
        self._version = ""

    def run(self) -> None:
        """Serve until stdin closes."""
        while line := self._source.readline(LONGEST_LINE + 1):
            if len(line) > LONGEST_LINE:
                while line and not line.endswith(b"\n"):
                    line = self._source.readline(LONGEST_LINE)
                self._fail(None, INVALID, f"a message is over {LONGEST_LINE} bytes")
            elif line.strip():
                self._take(line)
        end = time.monotonic() + GRACE
        for call in list(self._calls.values()):
            call.over.wait(max(0.0, end - time.monotonic()))
            call.cancel()
        if self._channel is not None:
            self._channel.stop()
        self._writing.acquire()  # for good: no thread may be inside stdout when Python ends

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._fail(None, PARSE, "the line isn't JSON")
            return
        method = message.get("method") if isinstance(message, dict) else None
        if not isinstance(method, str) or not isinstance(message.get("params", {}), dict):
            self._fail(None, INVALID, "each line is one JSON-RPC request or notification")
        elif "id" not in message:
            self._hear(method, message.get("params", {}))
        elif type(message["id"]) not in (int, str):
            self._fail(None, INVALID, "id: wants a number or a string")
        else:
            self._request(method, message)

    def _hear(self, method: str, params: Message) -> None:
        wanted = params.get("requestId")
        if method == "notifications/cancelled" and isinstance(wanted, int | str):
            call = self._calls.pop(wanted, None)
            if call is not None:
                call.cancel()
        if method == "notifications/initialized" and self._channel is not None:
            self._channel.begin()

    def _request(self, method: str, message: Message) -> None:
        if method == "ping":
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": {}})
        elif method == "server/discover":
            self._fail(message["id"], NO_METHOD, f"this connection speaks {NEWEST}: initialize")
        elif message["id"] in self._calls:
            self._fail(message["id"], INVALID, "id: a request with this id is under way")
        else:
            call = self._calls[message["id"]] = Call(_capped(message))
            if self._channel is not None:
                self._channel.began(call)
            threading.Thread(target=self._forward, args=(call,), daemon=True).start()

    def _forward(self, call: Call) -> None:
        """Carry one request to its answer; a refusal of a tool's call is that tool's result."""
        number = call.message["id"]
        try:
            answer = self._answer(call)
        except (Away, Refused) as failed:
            text = f"{failed}{_next_step(failed)}"
            if call.message["method"] == "tools/call":
                answer = {"jsonrpc": "2.0", "id": number, "result": refused(text)}
            else:
                answer = _failure(number, FAILED, text)
        if self._channel is not None:
            answer = self._channel.answered(call, answer)
        if not call.over.is_set():
            self._send(answer)
        if self._calls.get(number) is call:
            del self._calls[number]
        call.over.set()

    def _answer(self, call: Call) -> Message:
        params = call.message.get("params", {})
        if self._channel is not None and (own := self._channel.own(call)) is not None:
            return {"jsonrpc": "2.0", "id": call.message["id"], "result": own}
        if call.tool() != "get_credential":
            answer = self._persistent(call)
            if call.message["method"] == "initialize" and "result" in answer:
                self._version = str(answer["result"].get("protocolVersion", ""))
            return answer
        arguments, ring = self._keyring.prepare(call.arguments())
        if ring is not None:
            call.message = {**call.message, "params": {**params, "arguments": arguments}}
        try:
            answer = self._persistent(call)
        except (Away, Refused):
            if ring is not None:
                ring.close()
            raise
        if ring is None or "result" not in answer:
            return answer
        return {**answer, "result": self._keyring.finish(answer["result"], ring)}

    def _persistent(self, call: Call) -> Message:
        """The answer, over as many connections as it takes and is safe."""
        end, pause = time.monotonic() + RECONNECT, FIRST_PAUSE
        while True:
            told = call.told
            try:
                return self._once(call)
            except Away as away:
                if call.told > told:  # it was served for a while: a new outage, a new patience
                    end, pause = time.monotonic() + RECONNECT, FIRST_PAUSE
                hopeless = time.monotonic() > end or (away.taken and not call.repeatable())
                if hopeless or call.over.wait(pause):
                    raise
                pause = min(LONGEST_PAUSE, pause * 1.6)

    def _once(self, call: Call) -> Message:
        for message in exchange(self._server, call.message, self._version, call.opened):
            if "method" not in message:
                return message
            if not call.over.is_set():
                self._send(call.counted(message))
        raise Away("the connection to Styx ended before the answer", taken=True)

    def _fail(self, number: str | int | None, code: int, text: str) -> None:
        self._send(_failure(number, code, text))

    def _send(self, message: Message) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            try:
                self._sink.write(line)
                self._sink.flush()
            except (BrokenPipeError, ValueError):
                os._exit(Exit.OK)  # the client is gone; nobody is left to tell


def _failure(number: str | int | None, code: int, text: str) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": text}}


def _capped(message: Message) -> Message:
    """An `initialize` that asks for no newer protocol than a pipe can carry."""
    params = message.get("params", {})
    if message["method"] != "initialize" or str(params.get("protocolVersion", "")) <= NEWEST:
        return message
    return {**message, "params": {**params, "protocolVersion": NEWEST}}


def _next_step(failed: Exception) -> str:
    if isinstance(failed, Refused):
        return ""
    if failed.args and isinstance(failed, Away) and failed.taken:
        return "; what was asked may have been done, so look with list_targets or check_grant first"
    return (
        "; nothing was done, so try again in a moment, or ask your person to look at `styx status`"
    )


def serve(server: str, token: str, environ: Mapping[str, str], channel: bool = False) -> int:
    """Bridge this process's pipes to a server until stdin closes; returns the exit code."""
    url, token = server or environ.get("STYX_URL", ""), token or environ.get("STYX_TOKEN", "")
    if not url or not token:
        missing = "STYX_URL (or --server)" if not url else "STYX_TOKEN (or --token)"
        return _stop(
            f"no task here: {missing} isn't set. Start the agent with: styx run -- <agent>"
        )
    try:
        where = Server.at(url, token)
    except ValueError as wrong:
        return _stop(f"STYX_URL or STYX_TOKEN can't be used: {wrong}.")
    try:
        pipes = (sys.stdin.buffer, sys.stdout.buffer)
        Bridge(where, environ.get("STYX_KEYRING", ""), pipes, channel).run()
    except KeyboardInterrupt:
        return int(Exit.INTERRUPTED)
    return int(Exit.OK)


def _stop(text: str) -> int:
    print(f"styx: {text}", file=sys.stderr)
    return int(Exit.CONFIG)


def main_fast(argv: Sequence[str]) -> int | None:
    """`styx mcp [--channel] [--server URL] [--token TOKEN]` without the command line's libraries.

    `argv` is what follows `styx`. Returns the exit code, or None for what isn't this command in
    its plain form (help, a misspelt option): the ordinary command line answers that.
    """
    given = {"--server": "", "--token": ""}
    words = [word for word in argv[1:] if word != "--channel"]
    if argv[:1] != ["mcp"]:
        return None
    while words:
        name, equals, value = words.pop(0).partition("=")
        if name not in given or not (equals or words):
            return None
        given[name] = value if equals else words.pop(0)
    return serve(given["--server"], given["--token"], os.environ, "--channel" in argv)
