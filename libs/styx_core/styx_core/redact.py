"""Redaction: secrets leave a text or an argument list before anyone keeps or shows it. Pure.

Finders (`secret_finders`, `secret_commands`, and the declared shapes) say where secrets stand;
this file merges their spans and puts `[REDACTED]` there. What no finder touches stays byte for
byte. Redacting twice changes nothing more, and the time is linear in the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from styx_core import secret_finders as find
from styx_core.printable import printable as printable
from styx_core.secret_commands import in_commands, secret_words
from styx_core.secret_kinds import COMMON
from styx_core.secret_names import MARK, holds_secret, is_secret_flag
from styx_core.secret_shape import SecretShape, shape_pattern

Redactor = Callable[[str], str]

_MOST_PASSES = 4
"""What is hidden can bring its neighbours together into something else to hide; once is usual."""


@lru_cache(maxsize=16)
def _redactor(shapes: tuple[SecretShape, ...]) -> Redactor:
    pattern = shape_pattern((*shapes, *COMMON))
    finders: tuple[find.Finder, ...] = (
        _matches(pattern),
        find.structured,
        find.introduced,
        find.passwords_in_urls,
        find.assigned,
        find.flagged,
        find.private_keys,
        in_commands,
        find.disguised(pattern),
    )

    def apply(text: str) -> str:
        for _ in range(_MOST_PASSES):
            spans = [span for finder in finders for span in finder(text)]
            if find.INVISIBLE.search(text):
                spans += find.seen_through(text, finders)
            if not spans:
                break
            text = _hide(text, sorted(spans))
        return text

    return apply


def redactor(shapes: Iterable[SecretShape] = ()) -> Redactor:
    """A function that redacts a text: the common shapes and these, compiled once."""
    return _redactor(tuple(shapes))


def redact(text: str, shapes: Iterable[SecretShape] = ()) -> str:
    """`text` with every secret in it replaced by `[REDACTED]`."""
    return _redactor(tuple(shapes))(text)


def redact_argv(
    argv: Sequence[str],
    shapes: Iterable[SecretShape] = (),
    secret_flags: Iterable[str] = (),
) -> tuple[str, ...]:
    """The arguments with every secret replaced; as many arguments as before.

    `secret_flags` are the tool's flags whose value is secret, as typed (`--token`, `-t`). Their
    value is hidden whether it is the next argument, follows `=`, or is glued to a short flag.
    """
    apply, flags = redactor(shapes), frozenset(secret_flags)
    offsets: dict[int, int] = {}
    for at, offset in (*secret_words(argv), *_declared(argv, flags)):
        offsets[at] = min(offset, offsets.get(at, offset))
    return tuple(
        apply(word[: offsets[at]]) + MARK if at in offsets else apply(word)
        for at, word in enumerate(argv)
    )


def _declared(argv: Sequence[str], flags: frozenset[str]) -> Iterator[tuple[int, int]]:
    for at, word in enumerate(argv):
        before = argv[at - 1] if at else ""
        name, joint, value = word.partition("=")
        if before in flags or _is_named_value(before, word):
            yield at, 0
        elif joint and value and name in flags:
            yield at, len(name) + 1
        elif len(word) > 2 and word[:2] in flags and not word.startswith("--"):
            yield at, 2


def _is_named_value(before: str, word: str) -> bool:
    """Whether `word` follows a flag whose name promises a secret."""
    named = before.startswith("-") and "=" not in before and is_secret_flag(before)
    return named and not word.startswith("--") and holds_secret(before, word)


def _matches(pattern: re.Pattern[str]) -> find.Finder:
    return lambda text: (found.span() for found in pattern.finditer(text))


def _hide(text: str, spans: Iterable[find.Span]) -> str:
    pieces, kept, hidden = [], 0, -1
    for start, end in spans:
        if start > hidden:
            pieces += [text[max(kept, 0) : start], MARK]
        hidden = kept = max(end, hidden)
    return "".join((*pieces, text[kept:]))
