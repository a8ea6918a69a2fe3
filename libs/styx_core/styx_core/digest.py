"""The digest that ties a this-command-once grant to its command. Pure.

It is made with the task's token, which no store holds: whoever reads the digest can't try out what
secret the redacted command had. Each part goes in with its length before it (as a netstring), so
that no two commands, cut into words in whatever way, share one.
"""

import hashlib
from collections.abc import Sequence


def command_digest(token: str, words: Sequence[str]) -> str:
    """The digest of a whole command (tool and arguments) in the task that holds `token`."""
    parts = (part.encode(errors="surrogatepass") for part in (token, *words))
    return hashlib.sha256(b"".join(b"%d:%b," % (len(part), part) for part in parts)).hexdigest()
