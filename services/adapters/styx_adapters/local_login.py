"""The login that a provider's own CLI keeps on this machine: read at each use, never copied.

Offered only where adapters run on the developer's own machine (`Method.local`). Vault then holds
the account's name and nothing else. A store is read, never written; a CLI that is asked for its
own token runs without a shell, with a time limit, and its output is never logged or quoted.
"""

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from styx_core.errors import LoginExpired, ProviderFailed

ACCOUNT = r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,126}[A-Za-z0-9])?"
"""What an account, profile or host may be called: it travels into paths and argv."""

RUN_SECONDS = 10.0
MOST_BYTES = 1_000_000


class LocalLogin:
    """The logins below one person's home folder."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        """`environ` is the person's own: PATH and the XDG folders are taken from it."""
        self.home = home
        self._environ = dict(environ)

    def folder(self, variable: str, fallback: str) -> Path:
        """The folder that `variable` names (as XDG_CONFIG_HOME does), else one below home."""
        named = self._environ.get(variable, "")
        return Path(named) if named.startswith("/") else self.home / fallback

    def file(self, variable: str, fallback: Path) -> Path:
        """The file that `variable` names, else this one."""
        named = self._environ.get(variable, "")
        return Path(named) if named.startswith("/") else fallback

    def read(self, who: str, *places: Path) -> str:
        """The first store that is there. Raises `LoginExpired` when the CLI is logged out."""
        for place in places:
            try:
                with place.open("rb") as store:
                    return store.read(MOST_BYTES).decode()
            except FileNotFoundError:
                continue
            except (OSError, UnicodeDecodeError) as error:
                raise ProviderFailed(
                    f"{who}'s own login can't be read ({type(error).__name__})"
                ) from None
        raise LoginExpired(f"{who} is logged out on this machine; log in with its own command")

    async def ask(self, who: str, argv: Sequence[str], keep: Sequence[str] = ()) -> str:
        """What the CLI prints about its own login.

        `keep` names variables to pass on beside PATH and HOME. Raises `LoginExpired` when it says
        no, `ProviderFailed` when it isn't installed or takes too long.
        """
        program = shutil.which(argv[0], path=self._environ.get("PATH", os.defpath))
        if program is None:
            raise ProviderFailed(f"{argv[0]} is not installed on this machine")
        names = ("PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", *keep)
        env = {name: self._environ[name] for name in names if name in self._environ}
        process = await asyncio.create_subprocess_exec(
            program, *argv[1:],
            env={**env, "HOME": str(self.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        try:
            async with asyncio.timeout(RUN_SECONDS):
                out, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ProviderFailed(f"{argv[0]} took over {RUN_SECONDS:g} s") from None
        if process.returncode != 0 or not out.strip():
            raise LoginExpired(f"{who} is logged out on this machine; log in with its own command")
        return out.decode(errors="replace").strip()
