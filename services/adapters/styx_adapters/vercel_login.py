"""The `vercel` CLI's own login on this machine: where it is kept, and what it says.

Read as the CLI itself reads it (58.10.0: `auth.json` in the first of its folders that is there;
`token`, and since OAuth `refreshToken` and `expiresAt` in seconds). An access token lives hours
and only the CLI renews it: we never use the refresh token. A login that `credStorage` put into
the system's keyring isn't in the file, so it counts as logged out.
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from styx_core.errors import LoginExpired

from styx_adapters.local_login import LocalLogin

TOKEN = r"[A-Za-z0-9_]{16,512}"  # noqa: S105 (a pattern)
"""A token's letters: the CLI refuses one with any other."""

LATEST_SECONDS = 253_402_300_799
"""The end of the year 9999 since 1970: the latest time that Python knows."""


@dataclass(frozen=True)
class Login:
    """A target's own credential.

    `account` is whose it has to be, where it can change hands; `ends` is when it does, if known.
    """

    token: str = field(repr=False)
    account: str = ""
    ends: datetime | None = None


def store(local: LocalLogin) -> Path:
    """The file that the CLI would read: its newest folder's, else that of an older name."""
    data = (
        local.folder("XDG_DATA_HOME", ".local/share"),
        local.home / "Library/Application Support",
    )
    folders = [
        *(each / "com.vercel.cli" for each in data),
        local.home / ".now",
        *(each / "now" for each in data),
    ]
    return next((each for each in folders if each.is_dir()), folders[0]) / "auth.json"


def read_login(text: str, account: str, now: datetime) -> Login:
    """The login in an `auth.json`. Raises `LoginExpired` if there is none, or it ran out."""
    try:
        said: Any = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        said = None
    token = shaped(TOKEN, said.get("token")) if isinstance(said, dict) else None
    if token is None:
        raise LoginExpired("vercel is logged out on this machine; run `vercel login`")
    ends = instant(said.get("expiresAt"))
    if ends is not None and ends <= now:
        raise LoginExpired("this machine's vercel login ran out; `vercel whoami` renews it")
    return Login(token, account, ends)


def instant(value: object, per_second: int = 1) -> datetime | None:
    """A time since 1970, in seconds or parts of one; None for what is no such time."""
    if not isinstance(value, int | float) or not 0 < value <= LATEST_SECONDS * per_second:
        return None
    return datetime.fromtimestamp(value / per_second, UTC)


def shaped(pattern: str, value: object) -> str | None:
    """A text of this shape, from its first letter to its last; None for anything else."""
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else None
