"""One single sign-on under way: what one browser alone knows until it comes back."""

from dataclasses import dataclass
from typing import Final

ELSEWHERE: Final = "this sign-in began in another browser, or too long ago; try again"


@dataclass(frozen=True)
class Attempt:
    """`state` ties the answer to this browser, `nonce` the token to this attempt, and only who
    knows `verifier` can use the code (RFC 7636)."""

    state: str
    nonce: str
    verifier: str
    next: str
    """The path of ours to go on to."""
