"""What a GitHub App's token may do for each scope: one table, and what of it an installation has.

Every scope reads, because `gh` looks at what it changes. What a scope may change is the table's
business (GitHub REST, "Permissions required for GitHub Apps"):

- `read`: nothing. No documented call changes anything with these permissions at `read`; the two
  that aren't GETs are rendering Markdown, and forking, which needs `administration: write` besides.
- `write`: code, issues, pull requests, releases, labels, Actions runs, secrets and variables. The
  same level deletes files, branches, comments and runs: GitHub has no level between, so a token
  that writes is never said to be `scoped`.
- `deploy`: what puts something live, and the workflow files that decide what is put there. Code
  is `write`'s: changing a workflow file takes a grant of both.
- `delete`: `administration`, which alone deletes repositories (and creates, renames, archives or
  opens them to the public, which therefore needs `delete` too), and everything that holds things
  to delete.

Left out, because no list of repositories narrows them: an organization's or person's permissions
(members, projects of an organization, codespaces, gists). Pure.
"""

from collections.abc import Mapping
from typing import Final

from styx_core.scope import Scope

WRITE, DEPLOY, DELETE = Scope.WRITE, Scope.DEPLOY, Scope.DELETE

CHANGES: Final[Mapping[str, frozenset[Scope]]] = {
    "actions": frozenset({WRITE, DEPLOY, DELETE}),
    "actions_variables": frozenset({WRITE, DELETE}),
    "administration": frozenset({DELETE}),
    "attestations": frozenset(),
    "checks": frozenset({WRITE}),
    "contents": frozenset({WRITE, DELETE}),
    "deployments": frozenset({DEPLOY, DELETE}),
    "discussions": frozenset({WRITE, DELETE}),
    "environments": frozenset({DEPLOY, DELETE}),
    "issues": frozenset({WRITE, DELETE}),
    "metadata": frozenset(),
    "packages": frozenset({DEPLOY, DELETE}),
    "pages": frozenset({DEPLOY, DELETE}),
    "pull_requests": frozenset({WRITE, DELETE}),
    "repository_projects": frozenset({WRITE, DELETE}),
    "secrets": frozenset({WRITE, DELETE}),
    "statuses": frozenset({WRITE, DEPLOY}),
    "workflows": frozenset({DEPLOY}),
}
"""Permission -> the scopes for which it is asked at `write`; for all others it is at `read`."""

ONLY_WRITE: Final = frozenset({"workflows"})
"""Permissions that GitHub knows no `read` of."""

READ, MORE = "read", "write"


def asked(scopes: frozenset[Scope], has: Mapping[str, str]) -> dict[str, str]:
    """The permissions of a token for these scopes, at an installation that `has` those.

    GitHub refuses a token with more than the installation has, so what it lacks is left out, and
    the call that needs it is refused by GitHub. Empty if it has nothing of the table: such a token
    must not be asked for, because GitHub takes no permissions to mean all of them.
    """
    levels = {}
    for name, changes in CHANGES.items():
        level = MORE if changes & scopes and has.get(name) != READ else READ
        if has.get(name) and not (level == READ and name in ONLY_WRITE):
            levels[name] = level
    return levels


def only_reads(said: Mapping[str, str]) -> bool:
    """Whether a token with these permissions, as GitHub states them, can change nothing."""
    return bool(said) and all(name in CHANGES and level == READ for name, level in said.items())
