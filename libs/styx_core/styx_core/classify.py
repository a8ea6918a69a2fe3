"""What a command needs: the one function that turns an argument vector into scopes.

Rules (each has a property in the tests): what isn't known changes something (`write` at least);
what can't be read needs every scope but `read`; words and flags only ever add; values never lower;
a call is `read` because its command is known to read, or because the tool surely only prints help.
Pure: no clock, no I/O. `why` names known commands only and never repeats a word or value from the
call that isn't one, since any of them may be a secret.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from styx_core.argv import Grammar, Reading, read
from styx_core.classify_tree import unfold_all
from styx_core.places import elsewhere
from styx_core.scope import UNREADABLE, Scope, Scopes
from styx_core.tool import Tool

READ: Scopes = frozenset({Scope.READ})
WRITE: Scopes = frozenset({Scope.WRITE})
NOTHING: Scopes = frozenset()

_PHRASES = {
    Scope.READ: "only reads",
    Scope.WRITE: "changes things",
    Scope.DEPLOY: "puts a version into service",
    Scope.DELETE: "deletes",
}


@dataclass(frozen=True, slots=True)
class Classified:
    """What a call needs, and what a credential for it can be narrowed to.

    Fields:
        scopes: never empty. what changes something is a `read` only where it copies what it finds.
        why: one line for a person, free of values from the call.
        surface: the provider's service, by the provider's own name (`ec2`), if it is known.
        operation: the one operation that the call makes, if it is known. IAM compares actions
            without regard to case, and so may `s3:DeleteObject` be compared.
        identity_switch: a flag swaps the granted identity, or the place it is sent to.
        mints: the call prints or mints a credential that outlives it.
    """

    scopes: Scopes
    why: str
    surface: str | None = None
    operation: str | None = None
    identity_switch: bool = False
    mints: bool = False


class _Rules:
    """A tool, indexed for judging what was read."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.grammar = Grammar(tool)
        self.adds = [
            (scope, path, flag)
            for scope, patterns in tool.adds.items()
            for path, flag in map(_at_flag, unfold_all(patterns))
        ]
        self.methods = frozenset(map(_at_flag, unfold_all(tool.methods)))
        self.unnamed = frozenset(unfold_all(tool.unnamed))
        self.mints = frozenset(unfold_all(tool.mints))
        self.fetches = frozenset(unfold_all(tool.fetches))
        self.opaque = frozenset(unfold_all(tool.opaque))
        self.deletes = frozenset(unfold_all(tool.verbs.get(Scope.DELETE, ())))


def _at_flag(text: str) -> tuple[str, str]:
    path, _, flag = text.rpartition(" ")
    return path, flag


_KEPT = 64
_RULES: dict[int, tuple[Tool, _Rules]] = {}


def _rules(tool: Tool) -> _Rules:
    """The index of `tool`, made once: a tool is frozen, so its identity is its value."""
    kept = _RULES.get(id(tool))
    if kept is None or kept[0] is not tool:
        if len(_RULES) >= _KEPT:
            _RULES.clear()
        kept = _RULES[id(tool)] = (tool, _Rules(tool))
    return kept[1]


def classify(tool: Tool, argv: Sequence[str]) -> Classified:
    """What `argv`, the words after the tool's name, needs."""
    rules = _rules(tool)
    if len(argv) == 1 and argv[0] in tool.alone:
        return Classified(READ, f"`{tool.name} {argv[0]}` prints and exits")
    reading = read(rules.grammar, argv)
    known = _known_command(tool, reading)
    if _prints_help(rules, reading):
        return Classified(READ, f"`{known}` only prints its help")
    scopes, why = _needs(rules, reading, known)
    return Classified(
        scopes,
        why,
        surface=_surface(tool, reading),
        operation=_operation(rules, reading),
        identity_switch=any(_switches_identity(tool, flag) for flag in reading.flags)
        or elsewhere(tool, reading.node.path, (*reading.operands, *reading.strange), reading.flags),
        mints=_mints(rules, reading),
    )


def _known_command(tool: Tool, reading: Reading) -> str:
    return f"{tool.name} {reading.node.path}".rstrip()


def _prints_help(rules: _Rules, reading: Reading) -> bool:
    """Whether the tool surely prints its help and runs nothing."""
    tool, path = rules.tool, reading.node.path
    if reading.unread or reading.verb or path in rules.opaque:
        return False
    if tool.help_last and not reading.flags and not reading.dashes:
        words = reading.strange + reading.operands
        if len(words) == 1 and words[0] in tool.help_last:
            return True
    if reading.strange or reading.guessed:
        return False
    if reading.help_word and not reading.flags and not reading.dashes:
        return not reading.operands
    return any(rules.grammar.own_flag(path, name) is None for name in reading.helps)


def _needs(rules: _Rules, reading: Reading, known: str) -> tuple[Scopes, str]:
    """The scopes and the reason. Starts at what the command is and only ever adds."""
    tool, node = rules.tool, reading.node
    scopes = node.scopes or NOTHING
    why = _phrase(known, scopes)
    if reading.verb is not None:
        scopes = frozenset({Scope(rules.grammar.verbs[reading.verb])})
        why = f"newer than the known commands of `{tool.name}`; its verb: " + _phrase(
            reading.verb, scopes
        )
    elif not scopes and not reading.strange and not reading.guessed and not reading.flags:
        scopes, why = frozenset({Scope(tool.bare)}), f"`{known}` names no command"
    if not scopes or reading.strange:
        scopes |= WRITE
        why = f"not a known command of `{known}`: taken to change things"
    if reading.strange and any(_says(word, rules.deletes) for word in reading.strange):
        scopes |= {Scope.DELETE}
        why = f"not a known command of `{known}`, and it speaks of deleting"
    scopes, why = _with_flags(rules, reading, known, scopes, why)
    if reading.unread:
        scopes |= UNREADABLE
        why = "an unknown flag stands before the command: it can't be read, so it needs the most"
    fetched = READ if node.path in rules.fetches else NOTHING
    return (scopes - READ or READ) | fetched, why


def _phrase(known: str, scopes: Scopes) -> str:
    told = scopes - READ or scopes
    return f"`{known}` " + " and ".join(_PHRASES[s] for s in Scope if s in told)


_WORD_EDGES = re.compile(r"[^0-9A-Za-z]+")
"""A class of single characters: it can't backtrack."""


def _says(word: str, verbs: frozenset[str]) -> bool:
    return word in verbs or any(part in verbs for part in _WORD_EDGES.split(word))


def _with_flags(
    rules: _Rules, reading: Reading, known: str, scopes: Scopes, why: str
) -> tuple[Scopes, str]:
    """`scopes` with what flags add."""
    for scope, path, flag in rules.adds:
        if path == reading.node.path and _given(rules.tool, reading, flag):
            scopes |= {Scope(scope)}
            why = f"`{known}` with {flag}: " + _phrase("", scopes).removeprefix("`` ")
    for name, value in reading.flags:
        if (reading.node.path, name) in rules.methods and value is not None:
            scopes |= _METHODS.get(value.upper() if value.isascii() else "", WRITE)
            why = f"`{known}` with {name}: " + _phrase("", scopes).removeprefix("`` ")
    return scopes, why


_METHODS: Mapping[str, Scopes] = {
    "GET": NOTHING,
    "HEAD": NOTHING,
    "DELETE": frozenset({Scope.DELETE}),
}


def _given(tool: Tool, reading: Reading, flag: str) -> bool:
    """Whether `flag` was given, by any beginning of it where the tool takes those."""
    return any(
        name == flag
        or (tool.abbreviates and len(name) > 2 and name[:2] == "--" and flag.startswith(name))
        for name, _ in reading.flags
    ) or (reading.dashes and flag.startswith("--") and flag in reading.operands)


def _mints(rules: _Rules, reading: Reading) -> bool:
    path = reading.node.path
    return path in rules.mints or any(f"{path} {name}" in rules.mints for name, _ in reading.flags)


def _switches_identity(tool: Tool, flag: tuple[str, str | None]) -> bool:
    name, value = flag
    if name not in tool.identity:
        return False
    setting = (value or "").replace("=", " ").lower().split()
    harmless = tool.harmless.get(name, ())
    return " ".join(setting[:1]) not in harmless and " ".join(setting) not in harmless


def _surface(tool: Tool, reading: Reading) -> str | None:
    first = reading.node.path.partition(" ")[0]
    return tool.surfaces.get(first, first) or None


def _operation(rules: _Rules, reading: Reading) -> str | None:
    """The provider's name of the operation; None where that isn't surely known."""
    tool, path = rules.tool, reading.node.path
    if reading.node.scopes is None or reading.strange or not path or path in rules.unnamed:
        return None
    if tool.action_style != "iam":
        return path
    first, _, words = path.partition(" ")
    action = tool.actions.get(path)
    if action is None:
        action = "".join(word.capitalize() for word in words.split("-")) if words else ""
    return f"{tool.surfaces.get(first, first)}:{action}" if action else None
