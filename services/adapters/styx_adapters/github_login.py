"""The `gh` CLI's own logins on this machine: where they are kept, and what they say.

Read as gh itself reads them: `hosts.yml` in GH_CONFIG_DIR, else in `gh` below XDG_CONFIG_HOME,
else in `~/.config/gh`. A host there has its active `user`, and since gh 2.40 all its `users`; each
may have an `oauth_token`, which since 2.26 lies in the system's keyring instead where there is
one. Then only gh can tell it: `gh auth token`. The file is YAML as gh writes it, nested mappings
of plain texts; anything else is left to gh, too.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from styx_core.errors import LoginExpired

from styx_adapters.local_login import ACCOUNT, LocalLogin

TOKEN = r"[A-Za-z0-9_.-]{20,2048}"  # noqa: S105 (a pattern)
_LINE = re.compile(r"( *)([\w\"'][^\s{}\[\]]*?):(?: +(?![{\[&*|>!])(.*))?")
_COMMENT = re.compile(r" *(?:#.*)?")


@dataclass(frozen=True)
class Login:
    """One account at one host. `token` is empty if only gh knows it; `active` is gh's choice."""

    host: str
    account: str
    token: str = field(repr=False)
    active: bool

    def command(self) -> tuple[str, ...]:
        """What makes gh print the token. Only an account that isn't active needs gh 2.40."""
        words = ("gh", "auth", "token", "--hostname", self.host)
        return words if self.active or not self.account else (*words, "--user", self.account)


def store(local: LocalLogin) -> Path:
    """The file that gh would read."""
    usual = local.folder("XDG_CONFIG_HOME", ".config") / "gh"
    return local.file("GH_CONFIG_DIR", usual) / "hosts.yml"


def read_login(text: str, host: str, account: str) -> Login:
    """This account's login at this host, else the active one's. Raises `LoginExpired`."""
    hosts = _mapping(text)
    if hosts is None:
        return Login(host, account, "", active=False)
    found = hosts.get(host)
    if not isinstance(found, dict):
        raise LoginExpired(f"gh isn't logged in to {host}; run `gh auth login`")
    active = shaped(ACCOUNT, found.get("user"))
    if not active or account in ("", active):
        own = _below(_below(found, "users"), active)
        token = shaped(TOKEN, found.get("oauth_token")) or shaped(TOKEN, own.get("oauth_token"))
        return Login(host, account or active, token, active=True)
    users = _below(found, "users")
    if account not in users:
        raise LoginExpired(f"gh isn't logged in to {host} as {account}; run `gh auth login`")
    token = shaped(TOKEN, _below(users, account).get("oauth_token"))
    return Login(host, account, token, active=False)


def _below(mapping: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = mapping.get(key)
    return found if isinstance(found, dict) else {}


def shaped(pattern: str, value: object) -> str:
    """A text of this shape, from its first letter to its last; empty for anything else."""
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else ""


def _mapping(text: str) -> dict[str, Any] | None:
    """Nested mappings by their indent; None for what is written in another way."""
    whole: dict[str, Any] = {}
    inside: list[tuple[int, dict[str, Any]]] = [(-1, whole)]
    for line in text.splitlines():
        if _COMMENT.fullmatch(line):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        indent, key, value = len(found[1]), found[2].strip("\"'"), (found[3] or "").strip(" \"'")
        while inside[-1][0] >= indent:
            inside.pop()
        if value:
            inside[-1][1][key] = value
        else:
            inside.append((indent, {}))
            inside[-2][1][key] = inside[-1][1]
    return whole
