"""The digest that ties a this-command-once grant to its command. Pure.

It is made with the task's token, which no store holds: whoever reads the digest can't try out what
secret the redacted command had. An OAuth client's tokens change from hour to hour; they begin with
a stem that stays, as secret as the rest, and the stem stands for them. Each part goes in with its
length before it (as a netstring), so that no two commands, cut into words in whatever way, share
one.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

OAUTH: Final = "styx_oat_"
STEM: Final = 43
"""Letters of 256 random bits in base64url."""


def command_digest(token: str, words: Sequence[str]) -> str:
    """The digest of a whole command (tool and arguments) in the task that holds `token`."""
    lasting = token[: len(OAUTH) + STEM] if token.startswith(OAUTH) else token
    parts = (part.encode(errors="surrogatepass") for part in (lasting, *words))
    return hashlib.sha256(b"".join(b"%d:%b," % (len(part), part) for part in parts)).hexdigest()
