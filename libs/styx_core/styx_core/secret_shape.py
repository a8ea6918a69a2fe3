"""The shape of a secret that its issuer made recognisable: a prefix, then letters of an alphabet.

A shape is data, not a pattern, so that no declaration, not even a third party's, can make the
search slow: every shape compiles to `prefix[alphabet]{least,}`, which never looks back further
than `least` letters. Pure.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

AlphabetName = Literal["hex", "upper", "base62", "word", "urlsafe", "dotted", "base64"]

ALPHABETS: Final[dict[AlphabetName, str]] = {
    "hex": "0-9a-f",
    "upper": "A-Z0-9",
    "base62": "A-Za-z0-9",
    "word": "A-Za-z0-9_",
    "urlsafe": "A-Za-z0-9_-",
    "dotted": "A-Za-z0-9_.-",
    "base64": "A-Za-z0-9+/=%_-",
}

LEFT_EDGE: Final = r"(?:(?<![\w.-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""Where a word starts: after no word letter, or after an escaped one (`\\n`, `%22`)."""


@dataclass(frozen=True)
class SecretShape:
    """How to know a secret by its looks.

    `kind` names it for people; `prefixes` are literal and case matters; `least` counts letters of
    `alphabet` after the prefix. `starts_word` is for prefixes that also occur inside words
    (`sk-` in `disk-`). Raises ValueError for a shape that would match anything.
    """

    kind: str
    prefixes: tuple[str, ...]
    alphabet: AlphabetName
    least: int
    starts_word: bool = False

    def __post_init__(self) -> None:
        if not self.prefixes or not all(self.prefixes):
            raise ValueError(f"secret shape {self.kind!r}: give at least one prefix, none empty")
        if self.alphabet not in ALPHABETS:
            raise ValueError(f"secret shape {self.kind!r}: alphabet is one of {sorted(ALPHABETS)}")
        if not 8 <= self.least <= 256:
            raise ValueError(f"secret shape {self.kind!r}: least is 8 to 256, not {self.least}")


def shape_pattern(shapes: Iterable[SecretShape]) -> re.Pattern[str]:
    """One pattern for all the shapes, with what is glued to a secret's end taken as part of it."""
    known = tuple(shapes)
    free = _by_first_letter(shape for shape in known if not shape.starts_word)
    edged = _by_first_letter(shape for shape in known if shape.starts_word)
    return re.compile(f"(?:{free}|{LEFT_EDGE}{edged})[\\w-]*+")


def _by_first_letter(shapes: Iterable[SecretShape]) -> str:
    """An alternation grouped so that a letter that starts no prefix is dismissed at once."""
    groups: dict[str, list[str]] = {}
    for shape in shapes:
        body = f"[{ALPHABETS[shape.alphabet]}]{{{shape.least},}}+"
        for prefix in shape.prefixes:
            groups.setdefault(prefix[0], []).append(re.escape(prefix[1:]) + body)
    each = (f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in groups.items())
    return f"(?:{'|'.join(each)})" if groups else r"(?!)"
