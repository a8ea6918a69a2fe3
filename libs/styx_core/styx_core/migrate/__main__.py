"""`python -m styx_core.migrate [--json] [service …]`: the one-shot job that migrates databases.

No service named: all that keep a database. `STYX_DATABASE_URL_<SERVICE>` says where one is; for one
service alone `STYX_DATABASE_URL` will do. Leaves with 0 when all are current, 1 when one can't be.
"""

import argparse
import json
import sys
from dataclasses import asdict
from importlib.metadata import entry_points

from styx_core.migrate.running import Done, migrate_all
from styx_core.schema import Schema
from styx_core.settings import MigrateSettings


def main(words: list[str]) -> int:
    """Run the command; its exit code."""
    known = _schemas()
    parser = argparse.ArgumentParser("python -m styx_core.migrate", description=__doc__)
    parser.add_argument("--json", action="store_true", help="what was done, as a JSON array")
    parser.add_argument("service", nargs="*", help=f"of {', '.join(known)}; none: all")
    args = parser.parse_args(words)
    unknown = [name for name in args.service if name not in known]
    if unknown:
        parser.error(f"no service {unknown[0]!r} that keeps a database; there are: {[*known]}")
    names = args.service or list(known)
    done: list[Done] = []
    try:
        urls = MigrateSettings().urls(names)
        for each in migrate_all({known[name]: urls[name] for name in names}):
            done.append(each)
            if not args.json:
                sys.stdout.write(f"{each}\n")
    except ValueError as error:
        sys.stderr.write(f"styx: {error}\n")
        return 1
    finally:
        if args.json:
            sys.stdout.write(f"{json.dumps([asdict(each) for each in done])}\n")
    return 0


def _schemas() -> dict[str, Schema]:
    services = [entry.load() for entry in entry_points(group="styx.services")]
    return {s.name: s.schema for s in sorted(services, key=lambda s: s.name) if s.schema}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
