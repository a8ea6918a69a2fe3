"""Folding many command paths into few patterns with `{a,b}`, and writing a tool's file.

Rules: `unfold` of what `fold` returns gives the paths back, each once. Sorted, so that a rerun on
the same release changes nothing.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from styx_core.tool import Tool

COMMANDS = Path(__file__).parent.parent / "styx_adapters" / "commands"

Trie = dict[str, "Trie"]


def fold(paths: Iterable[str]) -> tuple[str, ...]:
    """The single words, then one pattern for each first word that has more behind it."""
    flat: list[str] = []
    deep: dict[str, list[str]] = defaultdict(list)
    for path in sorted(set(paths)):
        first, space, rest = path.partition(" ")
        if space:
            deep[first].append(rest)
        else:
            flat.append(first)
    return (*flat, *(f"{first} {_pattern(rest)}" for first, rest in deep.items()))


def _pattern(paths: list[str]) -> str:
    """Paths below one word: beginnings that share all their endings are written once."""
    endings: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        start, hyphen, end = path.partition("-")
        if hyphen and " " not in start:
            endings[hyphen + end].append(start)
        else:
            endings[""].append(path)
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for end, starts in endings.items():
        shared[tuple(starts)].append(end)
    parts = [_trie(list(starts)) + _trie(ends) for starts, ends in shared.items()]
    return parts[0] if len(parts) == 1 else "{" + ",".join(parts) + "}"


def _trie(texts: list[str]) -> str:
    """Texts that begin alike, as one pattern."""
    root: Trie = {}
    for text in texts:
        node = root
        for part in [*re.findall(r"[ -]?[^ -]*", text)[:-1], ""]:
            node = node.setdefault(part, {})
    return _render(root)


def _render(node: Trie) -> str:
    parts = [part + _render(below) for part, below in node.items()]
    return parts[0] if len(parts) == 1 else "{" + ",".join(parts) + "}" if parts else ""


def write(tool: Tool) -> None:
    """Write `tool` where the adapters ship it, a line for each pattern, and say so."""
    path = COMMANDS / f"{tool.name}.json"
    stated = {f.name: getattr(tool, f.name) for f in fields(tool)}
    stated = {key: value for key, value in stated.items() if value or key == "greedy"}
    path.write_text(json.dumps(stated, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    size = path.stat().st_size
    print(f"{tool.name} {tool.version}: {tool.total} commands, {size} bytes")  # noqa: T201
