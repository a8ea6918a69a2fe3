"""What a revoke can do to a credential that is out, from the least to the most. Pure."""

from typing import Final, Literal, get_args

Revocable = Literal["none", "expiry", "deny-policy", "hard"]
"""Nothing at all (the target's own credential, handed on), only wait for its own end, have the
provider deny everything to it, or end it at the provider."""

ORDER: Final[tuple[Revocable, ...]] = get_args(Revocable)
EFFECT: Final[dict[Revocable, str]] = {
    "none": "nothing can take back what was handed out: it is the target's own credential",
    "expiry": "nothing new goes out; what is out lives until its own end",
    "deny-policy": "the provider refuses what is out within seconds",
    "hard": "the provider ends what is out at once",
}
"""Each in a person's words, as what follows a revoke."""
