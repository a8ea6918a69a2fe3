"""What a repository could deploy: suggestions from the files that stand in it. Pure.

A provider declares which file hints at which command. The words that a suggestion takes from the
repository are plain identifiers and nothing else: a file's name is whatever somebody committed.
Nothing is run.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import NamedTuple

SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Deploy:
    """A way to deploy: the command, and the file that hints at it.

    `file` is a pattern of a path in the repository, each `*` within one name. `{name}` in a word
    stands for the file's own name, `{folder}` for the one of its folder.
    """

    command: tuple[str, ...]
    file: str


class Suggestion(NamedTuple):
    """A command that might deploy this repository, and the file that hints at it."""

    provider: str
    command: tuple[str, ...]
    file: str


def suggestions(
    declared: Iterable[tuple[str, Iterable[Deploy]]], files: Iterable[str], root: str
) -> list[Suggestion]:
    """What these files hint at, each command once; `root` is the repository's own name."""
    known = sorted(files)
    found = dict[tuple[str, ...], Suggestion]()
    for provider, deploys in declared:
        for deploy in deploys:
            for file in known:
                for command in _filled(deploy, PurePosixPath(file), root):
                    found.setdefault(command, Suggestion(provider, command, file))
    return list(found.values())


def _filled(deploy: Deploy, file: PurePosixPath, root: str) -> Iterator[tuple[str, ...]]:
    pattern = PurePosixPath(deploy.file).parts
    if len(pattern) != len(file.parts) or not all(map(fnmatchcase, file.parts, pattern)):
        return
    words = {"{name}": file.name, "{folder}": file.parent.name or root}
    used = {word for word in words if word in deploy.command}
    if all(SAFE_ID.fullmatch(words[word]) for word in used):
        yield tuple(words.get(word, word) for word in deploy.command)
