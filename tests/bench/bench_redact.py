"""How fast redaction is, and that 1 MB of hostile text costs ten times 100 KB, not a hundred."""

import json
import re
from time import perf_counter

from styx_core.redact import redact
from table import Row, print_table

HOSTILE = ("a=", "://a:b/", "password=$(", 'mysql "\\" ', "eyJ-", "mysql -p", "%41", "-----BEGIN ")
LINE = json.dumps(
    {"event": "decided", "target": "prod/aws", "command": ["aws", "s3", "rm", "s3://b/k"]}
)
_FLOOR = re.compile(r"password=\S+")


def _seconds(text: str) -> float:
    start = perf_counter()
    redact(text)
    return perf_counter() - start


def measure() -> list[Row]:
    """Megabytes a second on log lines, and the worst growth over hostile texts."""
    text = f"{LINE}\n" * (1_000_000 // (len(LINE) + 1))
    ours = len(text) / 1e6 / _seconds(text)
    start = perf_counter()
    _FLOOR.sub("", text)
    floor = len(text) / 1e6 / (perf_counter() - start)
    growth = max(
        _seconds(piece * (1_000_000 // len(piece))) / _seconds(piece * (100_000 // len(piece)))
        for piece in HOSTILE
    )
    return [
        Row("redact log lines", ours, "one pattern", floor, "MB/s", ">= 0.3", ours >= 0.3),
        Row("redact growth 100 KB to 1 MB", growth, "linear", 10.0, "x", "<= 25", growth <= 25),
    ]


if __name__ == "__main__":
    print_table(measure())
