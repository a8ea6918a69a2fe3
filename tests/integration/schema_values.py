"""Arguments made from a tool's own input schema: right ones, and each way in which one is wrong.

So a tool that is new is held to all of it without a word here.
"""

import re
from collections.abc import Iterator
from typing import Any

from hypothesis import find
from hypothesis import strategies as st

Schema = dict[str, Any]
LONG = 20_000
"""Characters or items that no argument may have."""
OF_NO_TYPE: dict[str, tuple[Any, ...]] = {
    "string": (7, True, [], {}, None),
    "integer": ("7", 7.5, True, [], {}, None),
    "number": ("7", True, [], {}, None),
    "boolean": ("true", 1, [], {}, None),
    "array": ("x", 7, {}, None),
    "object": ("x", 7, [], None),
}


def right(schema: Schema) -> Any:
    """A small value that fits."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema["type"]
    if kind == "string":
        if pattern := schema.get("pattern"):
            return find(st.from_regex(pattern, fullmatch=True), bool)
        return "x" * max(schema.get("minLength", 1), 1)
    if kind == "array":
        return [right(schema["items"])] * max(schema.get("minItems", 1), 1)
    if kind == "object":
        return {key: right(schema["properties"][key]) for key in schema.get("required", ())}
    return {"integer": schema.get("minimum", 1), "number": 1.5, "boolean": True}[kind]


def wrong(schema: Schema) -> Iterator[tuple[str, Any]]:
    """What is wrong, and a value that has just that."""
    for value in OF_NO_TYPE[schema["type"]]:
        yield f"{type(value).__name__} for {schema['type']}", value
    yield from {"string": _strings, "array": _arrays}.get(schema["type"], _others)(schema)


def _strings(schema: Schema) -> Iterator[tuple[str, Any]]:
    if "enum" in schema:
        yield "none of the choices", "FIXTURE-else"
        return
    if schema.get("minLength") or not re.search(schema.get("pattern", ""), ""):
        yield "empty", ""
    yield "overlong", "x" * LONG
    for name, character in (("NUL", "\x00"), ("escape", "\x1b[2J"), ("DEL", "\x7f")):
        yield f"with {name}", f"a{character}b"


def _arrays(schema: Schema) -> Iterator[tuple[str, Any]]:
    if schema.get("minItems"):
        yield "empty", []
    yield "overlong", [right(schema["items"])] * LONG
    for name, item in wrong(schema["items"]):
        if name != "overlong":
            yield f"an item that is {name}", [item]


def _others(schema: Schema) -> Iterator[tuple[str, Any]]:
    if "minimum" in schema:
        yield "too small", schema["minimum"] - 1
    if "maximum" in schema:
        yield "too large", schema["maximum"] + 1
    if schema["type"] == "integer":
        yield "huge", 10**30
