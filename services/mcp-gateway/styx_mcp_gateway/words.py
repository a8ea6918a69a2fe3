"""What an agent is told about Styx before any call: short, calm, and from the catalog. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from styx_core.contract.values import TargetView
from styx_core.provider import Provider

MOST_NAMED: Final = 8
INSTRUCTIONS: Final = """\
Styx gives this task access to its project's clouds, servers and repositories: narrow, for a time,
and recorded. You hold no credentials, and need none.

Run the usual command-line tools ({tools}): each call is checked by itself, and waits when a person
has to decide. There is no need to ask first.

Ask ahead with request_access when you know that several calls will need it. `pending` means that
nobody has decided yet: the request stays open, and check_grant waits for its outcome. `denied` is
an answer: tell your person what you can't do, and go on with the rest."""


def wrapped(providers: Mapping[str, Provider]) -> str:
    """The CLIs that Styx wraps, for a sentence."""
    names = sorted({tool.name for provider in providers.values() for tool in provider.tools})
    return ", ".join(names) or "none are connected yet"


def instructions(providers: Mapping[str, Provider]) -> str:
    """The server's instructions (clients cut at 2 KB)."""
    return filled(INSTRUCTIONS, providers)


def filled(text: str, providers: Mapping[str, Provider], targets: str = "") -> str:
    """A text with the CLIs and the project's targets put in."""
    return text.replace("{tools}", wrapped(providers)).replace("{targets}", targets)


def named(targets: Sequence[TargetView]) -> str:
    """A project's targets, for a sentence; the first of many."""
    shown = [f"{each.name} ({each.provider}, {each.env})" for each in targets[:MOST_NAMED]]
    more = len(targets) - len(shown)
    return ", ".join([*shown, *([f"and {more} more"] if more else [])]) or "none yet"
