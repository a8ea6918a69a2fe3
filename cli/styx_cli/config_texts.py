"""A client's configuration with one server put into it; every other letter stays. Pure.

JSON is changed in its text, at the one place; TOML by `tomlkit`, which keeps comments. What was
made is read back and must hold what was meant, or it is refused.
"""

import json
import re
import tomllib
from typing import Any, Final

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

Value = dict[str, Any]
_BLANK: Final = re.compile(r"[ \t\r\n]*")


class Unreadable(Exception):
    """A file that can't be changed; the text says where and why."""


def put(text: str, suffix: str, section: str, name: str, entry: Value) -> str:
    """`text` with `entry` as `section`'s `name`. Raises `Unreadable`."""
    meant = read(text, suffix)
    servers = meant.setdefault(section, {})
    if not isinstance(servers, dict):
        raise Unreadable(f"{section} is no table of servers")
    if servers.get(name) == entry:
        return text
    servers[name] = entry
    if suffix == ".toml":
        made = _in_toml(text, section, name, entry)
    else:
        made = _in_json(text if text.strip() else "{}\n", section, name, entry)
    if read(made, suffix) != meant:
        raise Unreadable(f"{section} is written in a way that can't be added to safely")
    return made


def read(text: str, suffix: str) -> Value:
    """The file as values; empty text is an empty file. Raises `Unreadable` naming the line."""
    if not text.strip():
        return {}
    try:
        found = tomllib.loads(text) if suffix == ".toml" else _json(text)
    except json.JSONDecodeError as wrong:
        raise Unreadable(f"line {wrong.lineno}: {wrong.msg}") from None
    except tomllib.TOMLDecodeError as wrong:
        raise Unreadable(str(wrong)) from None
    except (ValueError, RecursionError) as wrong:
        raise Unreadable(str(wrong) or type(wrong).__name__) from None
    if not isinstance(found, dict):
        raise Unreadable("line 1: wants an object")
    return found


def _json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once, parse_constant=_number)


def _once(pairs: list[tuple[str, Any]]) -> Value:
    found: Value = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{key!r} stands there twice")
        found[key] = value
    return found


def _number(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


def shown(suffix: str, section: str, name: str, entry: Value) -> str:
    """One entry as it would stand in such a file."""
    alone = {section: {name: entry}}
    if suffix == ".toml":
        return tomlkit.dumps(_as_table(alone))
    return json.dumps(alone, indent=2, ensure_ascii=False) + "\n"


def _as_table(values: Value) -> Any:
    document = tomlkit.document()
    for section, servers in values.items():
        table = tomlkit.table(is_super_table=True)
        for name, entry in servers.items():
            table[name] = tomlkit.item(entry)
        document[section] = table
    return document


def _in_toml(text: str, section: str, name: str, entry: Value) -> str:
    try:
        document = tomlkit.parse(text)
        if section not in document:
            blank = "\n" if text.strip() else ""
            end = "" if not text or text.endswith("\n") else "\n"
            return f"{text}{end}{blank}{shown('.toml', section, name, entry)}"
        servers: Any = document[section]
        old = servers.get(name)
        if isinstance(old, dict):
            for key in [key for key in old if key not in entry]:
                del old[key]
            for key, value in entry.items():
                if old.get(key) != value:
                    old[key] = value
        elif isinstance(servers, InlineTable):
            servers[name] = tomlkit.inline_table()
            servers[name].update(entry)
        else:
            servers[name] = tomlkit.item(entry)
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, KeyError) as wrong:
        raise Unreadable(str(wrong) or type(wrong).__name__) from None


def _in_json(text: str, section: str, name: str, entry: Value) -> str:
    """Put the entry at its place, in the file's own indentation."""
    step, line = _step(text), "\r\n" if "\r\n" in text else "\n"
    root = _BLANK.match(text).end()  # type: ignore[union-attr]
    sections = _members(text, root)
    if section not in sections:
        return _added(text, root, section, {name: entry}, (step, line, 1))
    servers = sections[section][0]
    names = _members(text, servers)
    if name not in names:
        return _added(text, servers, name, entry, (step, line, 2))
    start, end = names[name]
    return text[:start] + _lines(entry, step, line, 2) + text[end:]


def _members(text: str, at: int) -> dict[str, tuple[int, int]]:
    """Where each value of the object that begins at `at` begins and ends; `text` is valid."""
    found: dict[str, tuple[int, int]] = {}
    decoder, at = json.JSONDecoder(), _after(text, at + 1)
    while text[at] != "}":
        key, at = decoder.raw_decode(text, at)
        start = _after(text, _after(text, at) + 1)
        _, end = decoder.raw_decode(text, start)
        found[key] = (start, end)
        at = _after(text, end)
        at = _after(text, at + 1) if text[at] == "," else at
    return found


def _after(text: str, at: int) -> int:
    """Where the next letter that isn't blank stands."""
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _added(text: str, at: int, key: str, value: Value, style: tuple[str, str, int]) -> str:
    """The object that begins at `at` with one more member at its end."""
    step, line, depth = style
    member = f"{line}{step * depth}{json.dumps(key)}: {_lines(value, step, line, depth)}"
    last = max((end for _, end in _members(text, at).values()), default=None)
    if last is not None:
        return f"{text[:last]},{member}{text[last:]}"
    end = _after(text, at + 1)
    return f"{text[: at + 1]}{member}{line}{step * (depth - 1)}{text[end:]}"


def _lines(value: Value, step: str, line: str, depth: int) -> str:
    made = json.dumps(value, indent=step, ensure_ascii=False)
    return made.replace("\n", line + step * depth)


def _step(text: str) -> str:
    """The file's own indentation."""
    first = re.search(r"\{\r?\n([ \t]+)\"", text)
    return first[1] if first else "  "
