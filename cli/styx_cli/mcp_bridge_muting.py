"""Which of a task's news are pushed, and the tools that choose: the bridge's own. Pure.

What a tool takes is checked as the gateway checks it: an unknown key is refused by its name, and
nothing is coerced. Standard library only.
"""

import json
import re
from typing import Any

from styx_cli.mcp_bridge_http import Message

MOST = 100
ID = "^(grt|qst|tsk)_[0-9a-hjkmnp-tv-z]{26}$"
INVALID = "(code -32001)"
_WANTED: Message = {
    "all": {"type": "boolean", "description": "true: everything; else leave it out"},
    "ids": {
        "type": "array",
        "description": "grantIds, questions' ids or, for messages, their senders' sessionIds: the "
        "`about` of what was pushed",
        "items": {"type": "string", "pattern": ID},
        "minItems": 1,
        "maxItems": MOST,
    },
}
_LIST = {"type": "array", "items": {"type": "string"}}
_RESULT: Message = {
    "type": "object",
    "properties": {
        "all": {"type": "boolean", "description": "whether everything is muted but `heard`"},
        "muted": {**_LIST, "description": "what is muted, where not everything is"},
        "heard": {**_LIST, "description": "what is heard, where everything else is muted"},
    },
    "required": ["all", "muted", "heard"],
    "additionalProperties": False,
}


def _tool(name: str, title: str, description: str, wanted: Message) -> Message:
    schema = {"type": "object", "properties": wanted, "additionalProperties": False}
    hints = {"readOnlyHint": not wanted, "destructiveHint": False, "idempotentHint": True}
    return {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "outputSchema": _RESULT,
        "annotations": {**hints, "openWorldHint": False},
    }


TOOLS = (
    _tool(
        "channel_mute",
        "Mute",
        "Push no more about some grants, questions or sessions, or about anything (all). It stays "
        "in the inbox. Lasts as long as this session.",
        _WANTED,
    ),
    _tool(
        "channel_unmute",
        "Unmute",
        "Push again about some, or about everything (all). After everything was muted, only what "
        "is named here is pushed.",
        _WANTED,
    ),
    _tool("channel_muted", "What is muted", "What isn't pushed to you now.", {}),
)
NAMES = tuple(tool["name"] for tool in TOOLS)


class Muting:
    """What is muted: these ids, or all but these."""

    def __init__(self) -> None:
        self._all = False
        self._ids: set[str] = set()

    def hides(self, about: str) -> bool:
        """Whether what is about this isn't pushed."""
        return (about in self._ids) != self._all

    def call(self, name: str, given: Any) -> Message:
        """The result of one of `TOOLS`. Raises `ValueError` naming what is wrong."""
        wanted = chosen(name, given)
        if name != "channel_muted":
            self._change(wanted, mute=name == "channel_mute")
        ids = sorted(self._ids)
        found = {
            "all": self._all,
            "muted": [] if self._all else ids,
            "heard": ids if self._all else [],
        }
        text = {"type": "text", "text": json.dumps(found)}
        return {"content": [text], "structuredContent": found, "isError": False}

    def _change(self, ids: list[str], mute: bool) -> None:
        if not ids:
            self._all, self._ids = mute, set()
        elif mute == self._all:
            self._ids = self._ids - set(ids)
        else:
            self._ids = self._ids | set(ids)


def chosen(name: str, given: Any) -> list[str]:
    """The ids that a call names; none for all. Raises `ValueError` naming what is wrong."""
    known = () if name == "channel_muted" else tuple(_WANTED)
    if not isinstance(given, dict):
        raise ValueError(f"arguments: wants an object {INVALID}")
    for key in given:
        if key not in known:
            takes = ", ".join(known) or "no arguments"
            raise ValueError(
                f"{_plain(key)}: {name} has no such argument; it takes {takes} {INVALID}"
            )
    if not known:
        return []
    if "all" in given and given["all"] is not True:
        raise ValueError(f"all: wants true, or leave it out {INVALID}")
    if ("all" in given) == ("ids" in given):
        raise ValueError(f"ids: name some, or say all, one of the two {INVALID}")
    return _checked(given["ids"]) if "ids" in given else []


def _checked(ids: Any) -> list[str]:
    if not isinstance(ids, list) or not 1 <= len(ids) <= MOST:
        raise ValueError(f"ids: wants a list of 1 to {MOST} ids {INVALID}")
    for at, each in enumerate(ids):
        if not isinstance(each, str) or not re.fullmatch(ID[1:-1], each):
            raise ValueError(f"ids.{at}: wants a grantId, a question's id or a sessionId {INVALID}")
    return ids


def _plain(key: str) -> str:
    return ascii(key[:64])[1:-1]
