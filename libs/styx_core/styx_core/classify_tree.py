"""A tool's commands as a tree of words, unfolded from a `Tool` where a call walks it. Pure.

Rules: only exact words match (no folding, trimming or look-alikes). Only the branch of the first
word is unfolded, once, so that a tool of twenty thousand commands costs nothing to load.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from styx_core.scope import Scope, Scopes
from styx_core.tool import Tool


def unfold(pattern: str) -> list[str]:
    """Every text that a pattern with `{a,b}` alternatives stands for."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    alternatives, tail = _alternatives(rest)
    endings = unfold(tail)
    middles = [text for part in alternatives for text in unfold(part)]
    return [head + middle + ending for middle in middles for ending in endings]


def _alternatives(text: str) -> tuple[list[str], str]:
    """What stands up to the brace that closes, split at its commas, and what follows it."""
    depth, start, parts = 0, 0, []
    for at, char in enumerate(text):
        if char == "{":
            depth += 1
        elif char == "}" and depth:
            depth -= 1
        elif char in ",}" and not depth:
            parts.append(text[start:at])
            start = at + 1
            if char == "}":
                return parts, text[start:]
    raise ValueError("a brace is never closed")


def unfold_all(patterns: Iterable[str]) -> list[str]:
    """Every text of several patterns, in order."""
    return [text for pattern in patterns for text in unfold(pattern)]


class Node:
    """One word's place in the tree: what may follow, and the classes if it is a command."""

    __slots__ = ("children", "path", "scopes")

    def __init__(self, path: str) -> None:
        self.path = path
        self.children: dict[str, Node] = {}
        self.scopes: Scopes | None = None

    def grow(self, words: Iterable[str]) -> "Node":
        """The node at the end of `words`, made where it is missing."""
        node = self
        for word in words:
            found = node.children.get(word)
            if found is None:
                found = Node(f"{node.path} {word}".lstrip())
                node.children[word] = found
            node = found
        return node


class Tree:
    """A tool's commands. Branches are unfolded on first use and kept."""

    def __init__(self, tool: Tool) -> None:
        self.root = Node("")
        self._folded: dict[str, list[tuple[Scope, str]]] = defaultdict(list)
        self._aliases: dict[str, dict[str, str]] = defaultdict(dict)
        for scope, patterns in tool.by_class().items():
            for pattern in patterns:
                self._file(scope, pattern)
        for path, meant in tool.aliases.items():
            self._aliases[path.partition(" ")[0]][path] = meant

    def _file(self, scope: Scope, pattern: str) -> None:
        first, space, rest = pattern.partition(" ")
        if "{" in first and not space:
            for word in unfold(pattern):
                self._folded[word].append((scope, ""))
        elif pattern:
            self._folded[first].append((scope, rest))
        else:
            self.root.scopes = (self.root.scopes or frozenset()) | {scope}

    def first(self, word: str) -> Node | None:
        """The branch that a first word names."""
        node = self.root.children.get(word)
        if node is None and word in self._folded:
            node = self._branch(word)
        if word in self._aliases:
            self._link(self._aliases.pop(word))
            node = self.root.children.get(word)
        return node

    def _branch(self, word: str) -> Node:
        branch = self.root.grow((word,))
        for scope, pattern in self._folded[word]:
            for path in unfold(pattern):
                node = branch.grow(path.split())
                node.scopes = (node.scopes or frozenset()) | {scope}
        return branch

    def _link(self, aliases: Mapping[str, str]) -> None:
        for path, meant in aliases.items():
            first, *rest = meant.split()
            branch = self.first(first)
            target = branch.grow(rest) if branch else None
            *before, last = path.split()
            parent = self.first(before[0]) if before else self.root
            if target is not None and parent is not None:
                parent.grow(before[1:]).children[last] = target
