"""Hostile text costs linear work: ten times the text, about ten times the processor time.

What is asserted is a ratio of processor time with a bound midway between linear (10) and
quadratic (100); `tests/bench/bench_redact.py` measures the same at 1 MB.
"""

from time import process_time

import pytest
from styx_core.redact import redact

HOSTILE = (
    *("a=", "a: ", "password=", 'password="', 'password="\\" ', "password=$(", "password=\\"),
    *("eyJ", "eyJ-", "eyJaaaaaaaa.", "gh" + "p_", "SK" + "a" * 31, "-----BEGIN PRIVATE KEY-----\n"),
    *("://a:", "://a:b@", "://a:b/", "<token>", "Bearer ", "%41", "A%41", 'mysql "\\" ', "mysql '"),
    *("--password -", "login a password ", "12345678:AA", "MNO-", "\\\\", "\u202e", "a", "\x1b["),
)


def _work(text: str) -> float:
    """Seconds of processor time, the least of three runs."""
    least = float("inf")
    for _ in range(3):
        start = process_time()
        redact(text)
        least = min(least, process_time() - start)
    return least


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_costs_linear_work(piece: str) -> None:
    small, large = (piece * (size // len(piece)) for size in (6_000, 60_000))
    assert _work(large) <= 40 * _work(small)
