"""How much approving there is, and whether it is still looked at. Pure.

Who is asked too often stops reading (and an approval within two seconds wasn't read): these figures
show where a rule would serve better than a person.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Final

from styx_core.contract.values import GrantView

DAYS: Final = 7
GLANCE_SECONDS: Final = 2.0


@dataclass(frozen=True)
class Load:
    """One person's decisions in the last seven days."""

    person: str
    decided: int
    a_day: float
    median_seconds: float
    """From the request to their decision."""
    at_a_glance: int
    """How many within two seconds."""


def loads(grants: Iterable[GrantView]) -> list[Load]:
    """By person, the busiest first; `grants` are those that were decided in that time."""
    took: dict[str, list[float]] = defaultdict(list)
    for grant in grants:
        if grant.decided_by == "user" and grant.decided_person and grant.decided_at is not None:
            seconds = (grant.decided_at - grant.created_at).total_seconds()
            took[grant.decided_person].append(seconds)
    found = [
        Load(
            person=person,
            decided=len(seconds),
            a_day=len(seconds) / DAYS,
            median_seconds=median(seconds),
            at_a_glance=sum(each <= GLANCE_SECONDS for each in seconds),
        )
        for person, seconds in took.items()
    ]
    return sorted(found, key=lambda each: (-each.decided, each.person))
