"""`python -m tests.bench [name…]`: run these benches, or all, and print one table.

`--json` prints the rows as JSON instead. A bench is a `bench_<name>.py` here with `measure()`.
"""

import argparse
import json
import sys
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from table import Row, print_table  # noqa: E402


def names() -> list[str]:
    """Every bench."""
    return sorted(file.stem.removeprefix("bench_") for file in HERE.glob("bench_*.py"))


def main() -> None:
    """Measure and print; what can't be measured is told and leaves the others be."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names())}")
    parser.add_argument("--json", action="store_true", help="print rows as JSON")
    asked = parser.parse_args()
    unknown = sorted(set(asked.name) - set(names()))
    if unknown:
        parser.error(f"no bench {', '.join(unknown)}; there are {', '.join(names())}")
    rows: list[Row] = []
    for name in asked.name or names():
        print(f"· {name}", file=sys.stderr, flush=True)
        rows += import_module(f"bench_{name}").measure()
    if asked.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
