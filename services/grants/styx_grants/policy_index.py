"""The compiled index: the rules whose names match a request, without looking at the others. Pure.

Tuple space search, as in packet classification: rules that constrain the same fields share a
space, a hash table keyed by the values of these fields. A look-up asks each space once, so its cost
grows with the number of spaces (at most 128, in practice a handful) and not with that of the rules.
A rule that names many values would need every combination as a key; fields beyond `MAX_KEYS`
combinations are checked on the rule instead.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from operator import attrgetter, itemgetter

from styx_core.scope import EVERY, Scopes

from styx_grants.policy_terms import ANY_WORD, Effect, Names, Request, Rule

MAX_KEYS = 64

_FIELDS = ("project", "provider", "env", "target", "agent", "person")
_names_of = attrgetter(*_FIELDS)

Values = tuple[str, ...]
"""The six names of a request in the order of `_FIELDS`, then the first word of its command."""


Filed = tuple[Rule, Scopes, Effect | None]
"""A rule in the index, the scopes it touches, and its effect; None where hours or a command bear
on that."""


def first_word(rule: Rule) -> Names:
    """The word that a readable command must begin with for the rule to match; None for any."""
    command = rule.match.command
    return None if command is None or command[0] == ANY_WORD else frozenset({command[0]})


def first_word_of_allow(rule: Rule) -> Names:
    """As `first_word`, for allow alone: in a command that can't be read, caution matches more."""
    return first_word(rule) if rule.effect == Effect.ALLOW else None


class TupleSpace:
    """Rules by the names they match. `word_of` says which first word a rule is filed under."""

    def __init__(self, rules: Iterable[Rule], word_of: Callable[[Rule], Names]) -> None:
        self._everywhere: list[Filed] = []
        self._unkeyed: dict[str, dict[int, frozenset[str]]] = {}
        spaces: dict[tuple[int, ...], dict[object, list[Filed]]] = {}
        for rule in rules:
            keyed, unkeyed = _split((*_names_of(rule.match), word_of(rule)))
            if unkeyed:
                self._unkeyed[rule.id] = unkeyed
            if not keyed:
                self._everywhere.append(_filed(rule))
                continue
            space = spaces.setdefault(tuple(keyed), {})
            for key in product(*keyed.values()):
                # a key of one field is the value itself: itemgetter answers so too
                space.setdefault(key if len(key) > 1 else key[0], []).append(_filed(rule))
        self._spaces = [(itemgetter(*fields), space.get) for fields, space in spaces.items()]

    def find(self, values: Values) -> list[Filed]:
        """The rules whose names and first word match these, each once."""
        found = self._everywhere.copy()
        for key_of, filed_at in self._spaces:
            if filed := filed_at(key_of(values)):
                found += filed
        if self._unkeyed:
            return [one for one in found if self._matches(one[0], values)]
        return found

    def _matches(self, rule: Rule, values: Values) -> bool:
        unkeyed = self._unkeyed.get(rule.id)
        return unkeyed is None or all(values[field] in names for field, names in unkeyed.items())


def _filed(rule: Rule) -> Filed:
    match = rule.match
    scopes = EVERY if match.scopes is None else match.scopes
    conditional = match.hours is not None or match.command is not None
    return rule, scopes, None if conditional else rule.effect


def _split(
    names: Sequence[Names],
) -> tuple[dict[int, frozenset[str]], dict[int, frozenset[str]]]:
    """The fields to file a rule under, few-valued ones first, and those to check on the rule."""
    combinations = 1
    keyed, unkeyed = {}, {}
    given = [(field, values) for field, values in enumerate(names) if values is not None]
    for field, values in sorted(given, key=lambda item: len(item[1])):
        if combinations * len(values) <= MAX_KEYS:
            combinations *= len(values)
            keyed[field] = values
        else:
            unkeyed[field] = values
    return dict(sorted(keyed.items())), unkeyed


class Index:
    """Finds the rules that may bear on a request: all that do, and none whose names differ."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._readable = TupleSpace(rules, first_word)
        self._unreadable = TupleSpace(rules, first_word_of_allow)
        self._depth = max((len(rule.match.command or ()) for rule in rules), default=0)

    def candidates(self, request: Request) -> list[Filed]:
        """The rules whose names match the request and whose first word may."""
        command = request.command
        first = command[0] if command else ""
        hidden = request.plain < self._depth and request.plain < len(command)
        space = self._unreadable if hidden or not command else self._readable
        r = request
        return space.find((r.project, r.provider, r.env, r.target, r.agent, r.person, first))
