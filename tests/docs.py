"""The generated pages: `python -m tests.docs` writes them, `--check` says which are stale."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from styx_adapters.commands.coverage import coverage
from styx_adapters.ways import ways
from styx_core.contract.base import COMMANDS, EVENTS
from styx_core.contract.rights import SERVICES, rights
from styx_core.errors import BY_CODE
from styx_grants.machine import diagram

ROOT = Path(__file__).parent.parent
GENERATED = ROOT / "docs" / "generated"
PROVIDERS = """# Providers

## How each connects

What is issued is narrowed to a grant's scopes only where the last column says so; elsewhere it is
`scoped: false`, and any grant of it on prod needs a person with MFA.

{ways}
## What Styx knows of each CLI

{coverage}"""
NOTE = "<!-- made by `make docs`; edit the source, not this page -->\n\n"


def contract_page() -> str:
    """Every command, event and error, and who may say what."""
    lines = ["# The contract", "", "## Commands", "", "| subject | by | reply | deadline (s) | |"]
    lines.append("|---|---|---|---|---|")
    for subject, kind in sorted(COMMANDS.items()):
        said = _first_line(kind.__doc__)
        by = ", ".join(kind.by)
        lines.append(f"| `{subject}` | {by} | {kind.reply.__name__} | {kind.deadline:g} | {said} |")
    lines += ["", "## Events", "", "| subject | |", "|---|---|"]
    lines += [f"| `{s}` | {_first_line(e.__doc__)} |" for s, e in sorted(EVENTS.items())]
    lines += ["", "## Errors", "", "| code | HTTP | retryable | |", "|---|---|---|---|"]
    for code, error in sorted(BY_CODE.items()):
        said = _first_line(error.__doc__)
        lines.append(
            f"| `{code}` | {error.status} | {'yes' if error.retryable else 'no'} | {said} |"
        )
    return "\n".join([*lines, *_rights()]) + "\n"


def _rights() -> Iterator[str]:
    yield from ("", "## What each NATS user may say and hear")
    for service in SERVICES:
        may = rights(service)
        yield from ("", f"### {service}", "", "publish:", "")
        yield from (f"- `{subject}`" for subject in may.publish)
        yield from ("", "subscribe:", "")
        yield from (f"- `{subject}`" for subject in may.subscribe)


def _first_line(text: str | None) -> str:
    return (text or "").strip().splitlines()[0]


def snapshot() -> str:
    """The JSON schema of every message: a change of the contract shows in the diff."""
    kinds = {**COMMANDS, **EVENTS}
    schemas = {subject: kinds[subject].model_json_schema() for subject in sorted(kinds)}
    for subject, kind in COMMANDS.items():
        schemas[f"{subject} (reply)"] = kind.reply.model_json_schema()
    return json.dumps(schemas, indent=1, sort_keys=True) + "\n"


def pages() -> dict[Path, str]:
    """Each generated file with what it should hold."""
    states = f"# The life of a grant\n\n```mermaid\n{diagram()}```\n"
    return {
        GENERATED / "contract.md": NOTE + contract_page(),
        GENERATED / "contract.schemas.json": snapshot(),
        GENERATED / "grant-states.md": NOTE + states,
        GENERATED / "providers.md": NOTE + PROVIDERS.format(ways=ways(), coverage=coverage()),
    }


def main() -> int:
    """Write the pages, or with `--check` only say whether they are fresh."""
    checking = "--check" in sys.argv[1:]
    stale = [p for p, text in pages().items() if not p.exists() or p.read_text() != text]
    for path in stale:
        if not checking:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages()[path])
        print(f"{'stale' if checking else 'written'}: {path.relative_to(ROOT)}")
    if checking and stale:
        print("run `make docs` and commit what it writes")
    return int(checking and bool(stale))


if __name__ == "__main__":
    raise SystemExit(main())
