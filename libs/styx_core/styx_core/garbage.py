"""Fewer garbage collections: what the collector looks at grows with what a service holds.

Each held call is hundreds of objects that live on, and a collection at Python's own threshold looks
at all of them again and again (https://docs.python.org/3/library/gc.html#gc.set_threshold).
"""

import gc
from typing import Final

YOUNG, MIDDLE, OLD = 50_000, 20, 50
"""Objects that are made between two collections of the youngest; collections of one generation
between two of the next. Cycles are kept a little longer for it: some megabytes."""
THRESHOLDS: Final = (YOUNG, MIDDLE, OLD)


def calm() -> None:
    """Call once, when all is imported: that is never garbage, and is not looked at any more."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
