"""What is known of each tool's commands, as the table that `docs/generated/providers.md` shows.

Rules: every number is counted from the data that ships, so the table can't claim what isn't there.
"""

from collections.abc import Mapping

from styx_core.classify_tree import unfold_all
from styx_core.tool import Tool

from styx_adapters.commands.load import names, tool
from styx_adapters.registry import declared

HEAD = """| CLI | release | known | of that release | read | write | deploy | delete | read from |
|---|---|---|---|---|---|---|---|---|
"""


def coverage() -> str:
    """The table, in Markdown, a line for each tool: those with data here, and any provider's."""
    known = {name: tool(name) for name in names()}
    known |= {each.name: each for provider in declared() for each in provider.tools}
    return HEAD + "".join(_line(known[name]) for name in sorted(known))


def counted(known: Tool) -> Mapping[str, int]:
    """How many commands are known in each class; one in two classes counts in both."""
    return {scope.value: len(set(unfold_all(words))) for scope, words in known.by_class().items()}


def _line(known: Tool) -> str:
    paths = {path for words in known.by_class().values() for path in unfold_all(words)}
    share = f"all {known.total}" if len(paths) >= known.total else f"{len(paths)} of {known.total}"
    cells = [known.name, known.version, len(paths), share, *counted(known).values(), known.source]
    return "| " + " | ".join(map(str, cells)) + " |\n"
