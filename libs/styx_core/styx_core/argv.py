"""Reading an argument vector by a tool's grammar: which words, which flags, what was unreadable.

Rules: pure; a flag's value is never a word and a word never a flag's value unless the grammar says
so; what the grammar doesn't know is kept as such (`strange`, `unread`, `tainted`) and never guessed
to be harmless. Words match exactly. Time is linear in the length of the vector.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from styx_core.classify_tree import Node, Tree, unfold_all
from styx_core.tool import Tool

ENDED = Node("")
"""Where a reading stands after a verb that the tree doesn't have: nothing can follow."""


@dataclass(slots=True)
class Reading:
    """What was read. `strange`: words where a command was due and none is known by that name."""

    node: Node
    strange: list[str] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)
    flags: list[tuple[str, str | None]] = field(default_factory=list)
    verb: str | None = None
    guessed: bool = False
    help_word: bool = False
    early: list[str] = field(default_factory=list)
    helps: list[str] = field(default_factory=list)
    unread: bool = False
    tainted: bool = False
    dashes: bool = False
    settled: bool = False


class Grammar:
    """A tool, indexed for reading: flags by arity, the tree, the words that mean something."""

    def __init__(self, tool: Tool) -> None:
        self.tool = tool
        self.tree = Tree(tool)
        self.common = dict.fromkeys(unfold_all(tool.switches), False)
        self.common |= dict.fromkeys(unfold_all(tool.help_flags), False)
        self.common |= dict.fromkeys(unfold_all(tool.values), True)
        self.own = {path: _arity(flags) for path, flags in tool.options.items()}
        self.operands = frozenset(tool.operands)
        self.nouns = frozenset(unfold_all(tool.nouns))
        self.verbs = {w: scope for scope, ws in tool.verbs.items() for w in unfold_all(ws)}

    def takes_value(self, path: str, flag: str) -> bool | None:
        """Whether `flag` takes a value at `path`; None if it isn't known there."""
        own = self.own_flag(path, flag)
        if own is not None:
            return own
        return self.common.get(flag)

    def own_flag(self, path: str, flag: str) -> bool | None:
        """As `takes_value`, by what the command at `path` and its groups declare."""
        while path:
            found = self.own.get(path, _NONE).get(flag)
            if found is not None:
                return found
            path = path.rpartition(" ")[0]
        return self.own.get("", _NONE).get(flag)

    def knows(self, arg: str) -> bool:
        """Whether any command has the flag that `arg` starts with."""
        name = arg.partition("=")[0] if arg.startswith("--") else arg[:2]
        return any(name in flags for flags in self.own.values())

    def full_name(self, path: str, flag: str) -> str:
        """The long flag that `flag` abbreviates, or `flag` itself."""
        if not self.tool.abbreviates or self.takes_value(path, flag) is not None:
            return flag
        meant = [name for name in self.common if name.startswith(flag)]
        return meant[0] if len(meant) == 1 and len(flag) > 2 else flag


_NONE: Mapping[str, bool] = {}


def _arity(flags: Sequence[str]) -> dict[str, bool]:
    return {flag.removesuffix("="): flag.endswith("=") for flag in unfold_all(flags)}


def read(grammar: Grammar, argv: Sequence[str]) -> Reading:
    """Read `argv`, the words after the tool's name."""
    reading = Reading(grammar.tree.root)
    rest = list(reversed(argv))
    while rest:
        arg = rest.pop()
        if reading.dashes or len(arg) < 2 or arg[0] != "-":
            _word(grammar, reading, arg)
        elif arg == "--":
            reading.dashes = True
        elif not _put_off(grammar, reading, arg, rest):
            _flag(grammar, reading, arg, rest)
    rest = list(reversed(reading.early))
    while rest:
        arg = rest.pop()
        if arg[:1] == "-":
            _flag(grammar, reading, arg, rest, due=not grammar.knows(arg))
    return reading


def _put_off(grammar: Grammar, reading: Reading, arg: str, rest: list[str]) -> bool:
    """Keep a flag that may be the coming command's own; pflag takes it to have a value."""
    at_root = reading.node is grammar.tree.root
    if not (grammar.tool.scattered and at_root) or arg[:2] in grammar.common:
        return False
    if arg.partition("=")[0] in grammar.common:
        return False
    reading.early.append(arg)
    if "=" not in arg and (arg[1] == "-" or len(arg) == 2) and rest:
        reading.early.append(rest.pop())
    return True


def _flag(
    grammar: Grammar, reading: Reading, arg: str, rest: list[str], due: bool | None = None
) -> None:
    """One flag argument. `due`: a command was still to come when it stood there."""
    if due is None:
        waiting = bool(reading.node.children) and not reading.settled
        due = (waiting or reading.node is grammar.tree.root) and not reading.strange
    if arg.startswith("--"):
        _long(grammar, reading, arg, rest, due)
    else:
        _short(grammar, reading, arg, rest, due)


def _word(grammar: Grammar, reading: Reading, word: str) -> None:
    node = reading.node
    at_root = node is grammar.tree.root
    child = grammar.tree.first(word) if at_root else node.children.get(word)
    if reading.settled:
        reading.operands.append(word)
    elif child is not None:
        reading.node = child
    elif node.path in grammar.operands:
        reading.operands.append(word)
        reading.settled = True
    elif node.children or (at_root and not reading.verb):
        _strange(grammar, reading, word, at_root)
    else:
        reading.operands.append(word)


def _strange(grammar: Grammar, reading: Reading, word: str, at_root: bool) -> None:
    """A word where a command was due."""
    tool = grammar.tool
    untouched = at_root and not reading.strange and not reading.guessed
    if untouched and word in tool.skips:
        return
    if untouched and word in tool.help_words and not reading.help_word:
        reading.help_word = True
    elif word in grammar.nouns:
        reading.guessed = True
    elif grammar.nouns and word in grammar.verbs and not untouched:
        reading.verb, reading.node = word, ENDED
    else:
        reading.strange.append(word)


def _long(grammar: Grammar, reading: Reading, arg: str, rest: list[str], due: bool) -> None:
    name, equals, value = arg.partition("=")
    name = grammar.full_name(reading.node.path, name)
    takes = grammar.takes_value(reading.node.path, name)
    if equals:
        reading.flags.append((name, value))
    else:
        reading.flags.append((name, _value(grammar, takes, rest)))
    _known(grammar, reading, name, takes, due)


def _short(grammar: Grammar, reading: Reading, arg: str, rest: list[str], due: bool) -> None:
    """`-x`, `-xVALUE`, `-x=VALUE` or a cluster `-abcVALUE`."""
    for at in range(1, len(arg)):
        name = f"-{arg[at]}"
        takes = grammar.takes_value(reading.node.path, name)
        if takes and at + 1 < len(arg):
            reading.flags.append((name, arg[at + 1 :].removeprefix("=")))
        else:
            reading.flags.append((name, _value(grammar, takes, rest)))
        _known(grammar, reading, name, takes, due)
        if takes or takes is None:
            return


def _value(grammar: Grammar, takes: bool | None, rest: list[str]) -> str | None:
    if not takes or not rest:
        return None
    if rest[-1].startswith("-") and len(rest[-1]) > 1 and not grammar.tool.greedy:
        return None
    return rest.pop()


def _known(grammar: Grammar, reading: Reading, name: str, takes: bool | None, due: bool) -> None:
    """Note what a flag means for the reading as a whole."""
    if takes is None and due:
        reading.unread = True
    elif takes is None:
        reading.tainted = True
    elif name in grammar.tool.help_flags and not (reading.tainted and grammar.tool.greedy):
        reading.helps.append(name)
