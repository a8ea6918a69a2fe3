"""The tools whose commands Styx knows, read from the data files beside this module.

Rules: one `<name>.json` is one tool, written by a generator under `services/adapters/surface`. A
tool is read once and kept: it never changes while a process lives.
"""

from functools import cache
from importlib.resources import files

from styx_core.tool import Tool


@cache
def tool(name: str) -> Tool:
    """The tool called `name`.

    Raises:
        KeyError: no tool of that name is known.
    """
    if name not in names():
        raise KeyError(name)
    return Tool.from_json((files(__package__) / f"{name}.json").read_bytes())


@cache
def names() -> tuple[str, ...]:
    """The names of the tools that are known, sorted."""
    return tuple(
        sorted(
            file.name.removesuffix(".json")
            for file in files(__package__).iterdir()
            if file.name.endswith(".json")
        )
    )
