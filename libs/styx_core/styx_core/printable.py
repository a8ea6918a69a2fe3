"""Showing text without letting it hide anything: control, bidi and invisible letters made visible.

Pure. Rules after Unicode: categories Cc, Cf, Cs, Co, Zl and Zp never reach a screen as they are
(UTS 39, UAX 9: a right-to-left override can make `rm x` read as something else).
"""

import unicodedata
from typing import Final

_HIDING: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANKS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
"""Letters by category that show as nothing."""


def printable(text: str) -> str:
    """`text` with every letter that could hide or reorder others shown as `⟨U+202E⟩`.

    Variation selectors and every space but the plain one are shown too; line ends and tabs are
    shown as well, because a shown command is one line.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"⟨U+{ord(c):04X}⟩" if _hides(c) else c for c in text)


def _hides(letter: str) -> bool:
    category = unicodedata.category(letter)
    return (
        category in _HIDING
        or letter in _BLANKS
        or (category == "Zs" and letter != " ")
        or 0xFE00 <= ord(letter) <= 0xFE0F
        or 0xE0100 <= ord(letter) <= 0xE01EF
    )
