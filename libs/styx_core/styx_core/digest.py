"""The digest that ties a this-command-once grant to its command. Pure.

It is made with the task's token, which no store holds: whoever reads the digest can't try out what
secret the redacted command had.
"""

import hashlib
from collections.abc import Sequence


def command_digest(token: str, words: Sequence[str]) -> str:
    """The digest of a whole command (tool and arguments) in the task that holds `token`."""
    return hashlib.sha256("\0".join((token, *words)).encode(errors="surrogatepass")).hexdigest()
