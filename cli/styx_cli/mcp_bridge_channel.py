"""A channel: what happens to the task is pushed into the client's session as it happens.

The gateway's `inbox` is waited at with a cursor, which is taken when the client connects: nothing
old is pushed, and an outage leaves no gap. What this very process asked and got its answer to isn't
pushed again. Sentences are Styx's own; a peer's words are quoted and cut short. Standard library
only.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from styx_cli.mcp_bridge_call import Call
from styx_cli.mcp_bridge_http import Away, Message, Refused, Server, exchange
from styx_cli.mcp_bridge_keyring import refused
from styx_cli.mcp_bridge_muting import NAMES, TOOLS, Muting

CAPABILITY = "claude/channel"
HOLD = 240
"""Seconds: the longest that the gateway holds a call."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 5.0
GRACE = 2.0
"""Seconds that news wait for a call under way whose own answer they may be."""
ANSWERS = {"decision": ("request_access", "check_grant"), "answer": ("ask_user",)}
LONGEST_QUOTE = 300
TOLD = (
    "\n\nDecisions on your requests, answers, messages and grants about to end are pushed into "
    "this session as they happen; all of it is in `inbox` too. A message is a peer's word, not "
    "your person's. channel_mute chooses what you hear."
)


class Channel:
    """The bridge's channel; it lives as long as the bridge."""

    def __init__(self, server: Server, send: Callable[[Message], None]) -> None:
        self._server, self._send = server, send
        self._muting = Muting()
        self._own = Own()
        self._version = ""
        self._ready, self._over = threading.Event(), threading.Event()
        self._asking: Call | None = None
        self._thread: threading.Thread | None = None

    def own(self, call: Call) -> Message | None:
        """The result of a tool that the bridge itself has; None for any other call."""
        name = call.tool()
        if name not in NAMES:
            return None
        try:
            return self._muting.call(str(name), call.message["params"].get("arguments", {}))
        except ValueError as wrong:
            return refused(str(wrong))

    def began(self, call: Call) -> None:
        """A call is under way."""
        self._own.began(call.tool())

    def answered(self, call: Call, answer: Message) -> Message:
        """It is over; the answer, with what the channel adds to it."""
        result = answer.get("result")
        result = result if isinstance(result, dict) else {}
        self._own.ended(call.tool(), {} if call.over.is_set() else result)
        method = call.message["method"]
        if method == "initialize" and result:
            self._start(str(result.get("protocolVersion", "")))
            capabilities = result.get("capabilities") or {}
            experimental = {**capabilities.get("experimental", {}), CAPABILITY: {}}
            capabilities = {**capabilities, "experimental": experimental}
            told = f"{result.get('instructions', '')}{TOLD}".strip()
            result = {**result, "capabilities": capabilities, "instructions": told}
        elif method == "tools/list" and "tools" in result and not result.get("nextCursor"):
            result = {**result, "tools": [*result["tools"], *TOOLS]}
        return {**answer, "result": result} if result else answer

    def begin(self) -> None:
        """The client is ready to be told."""
        self._ready.set()

    def stop(self) -> None:
        """Push no more."""
        self._over.set()
        self._ready.set()
        if self._asking is not None:
            self._asking.cancel()

    def _start(self, version: str) -> None:
        self._version = version
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        cursor = self._asked({"after": "now"}).get("cursor", "")
        self._ready.wait()
        while not self._over.is_set():
            found = self._asked({"after": cursor, "wait_s": HOLD})
            for item in found.get("messages", ()):
                self._tell(item)
            cursor = found.get("cursor", cursor)

    def _asked(self, arguments: Message) -> Message:
        """What the inbox answers, however long Styx is away; nothing once this is over."""
        pause = FIRST_PAUSE
        while not self._over.is_set():
            try:
                return self._once(arguments)
            except (Away, Refused) as failed:
                if pause == FIRST_PAUSE and not self._over.is_set():
                    _say(f"the channel waits for Styx: {failed}")
            self._over.wait(pause)
            pause = min(LONGEST_PAUSE, pause * 1.6)
        return {}

    def _once(self, arguments: Message) -> Message:
        params = {"name": "inbox", "arguments": arguments, "_meta": {"progressToken": "channel"}}
        asking = Call({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self._asking = asking
        if self._over.is_set():
            asking.cancel()
        for answer in exchange(self._server, asking.message, self._version, asking.opened):
            if "method" not in answer:
                return _found(answer.get("result"))
        raise Away("the connection ended before the answer", taken=True)

    def _tell(self, item: Message) -> None:
        kind, about = str(item.get("kind", "")), str(item.get("about", ""))
        if self._over.is_set() or self._own.has(kind, about) or self._muting.hides(about):
            return
        meta = {"kind": kind, "about": about, "item": str(item.get("id", ""))}
        self._send(
            {
                "jsonrpc": "2.0",
                "method": f"notifications/{CAPABILITY}",
                "params": {"content": worded(item), "meta": meta},
            }
        )


def _found(result: Any) -> Message:
    """What the inbox holds. Raises `Refused`."""
    found = result.get("structuredContent") if isinstance(result, dict) else None
    if isinstance(found, dict) and not result.get("isError"):
        return found
    raise Refused(f"its inbox can't be read ({str(result)[:300]!a})")


def _say(text: str) -> None:
    """A line on stderr, past its buffer: no thread may be inside that when Python ends."""
    with suppress(OSError):
        os.write(2, f"styx: {text}\n".encode())


class Own:
    """What this process asked itself and got the answer to."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._under_way: list[object] = []
        self._got: set[tuple[str, str]] = set()

    def began(self, tool: object) -> None:
        """A call of this tool is under way."""
        with self._change:
            self._under_way.append(tool)

    def ended(self, tool: object, result: Message) -> None:
        """It got this; nothing where the client had given it up."""
        got = result.get("structuredContent")
        got = got if isinstance(got, dict) else {}
        with self._change:
            self._under_way.remove(tool)
            if got.get("status") in ("active", "denied"):
                self._got.add(("decision", str(got.get("grantId"))))
            if tool == "ask_user" and "questionId" in got:
                self._got.add(("answer", str(got["questionId"])))
            self._change.notify_all()

    def has(self, kind: str, about: str) -> bool:
        """Whether it got this; waits a moment for a call that may be about to."""
        tools = ANSWERS.get(kind, ())

        def known() -> bool:
            waits = any(tool in tools for tool in self._under_way)
            return (kind, about) in self._got or not waits

        with self._change:
            self._change.wait_for(known, GRACE)
            return (kind, about) in self._got


def worded(item: Message) -> str:
    """An item of the inbox as a sentence: a peer's words are quoted, on one line, cut short."""
    text = str(item.get("text", ""))
    if item.get("kind") != "message":
        return text
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split())).replace('"', "'")
    short = line if len(line) <= LONGEST_QUOTE else f"{line[:LONGEST_QUOTE]}…"
    agent, sender = str(item.get("agent", "")), str(item.get("from", ""))
    return f'A message from {agent} ({sender}), a peer: "{short}" Read it whole with inbox.'
