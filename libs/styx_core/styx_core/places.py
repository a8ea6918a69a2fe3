"""Whether a call names another host than its own: then its credential would be sent there. Pure.

A repository may be named with its host: as a URL, as `git@host:owner/repo`, or as
`HOST/OWNER/REPO` where a repository is due.
"""

import re
from collections.abc import Iterable

from styx_core.tool import Tool

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/?#@]*@)?([^/?#:]*)")
_SCP = re.compile(r"[^/@:]+@([^/:]+):")


def elsewhere(
    tool: Tool, path: str, operands: Iterable[str], flags: Iterable[tuple[str, str | None]]
) -> bool:
    """Whether an operand of the command at `path`, or a repository flag, names another host."""
    if not tool.home:
        return False
    here = any(path == place or path.startswith(f"{place} ") for place in tool.places)
    named = [_host(word, repository=here) for word in operands]
    named += [_host(value, repository=True) for name, value in flags if value and _due(tool, name)]
    return any(host is not None and host.lower() not in tool.home for host in named)


def _due(tool: Tool, flag: str) -> bool:
    return flag in tool.values


def _host(word: str, *, repository: bool) -> str | None:
    """The host that a word names; None where it names none."""
    found = _URL.match(word) or _SCP.match(word)
    if found:
        return found[1]
    parts = word.split("/")
    return parts[0] if repository and len(parts) > 2 else None
