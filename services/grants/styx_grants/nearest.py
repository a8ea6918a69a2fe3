"""What a denied task would have at once by asking for just that.

An offer of a person that stands comes first; else, of all that the rules allow, what keeps the most
of the scopes that were asked, on the same target before others of its provider.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from typing import Any, Final

from sqlalchemy import Connection
from styx_core.contract.grants import Access, Offer
from styx_core.scope import Scope, Scopes, ordered

from styx_grants import offering
from styx_grants import repository as repo
from styx_grants.asking import Asked, evaluate
from styx_grants.deadlines import Duration
from styx_grants.deps import Deps
from styx_grants.policy_terms import Effect
from styx_grants.requesting import access

MOST_TARGETS: Final = 50
OFFERED: Final = frozenset({Duration.QUARTER, Duration.HOUR, Duration.EIGHT_HOURS, Duration.TASK})


def nearer(asked: Scopes, target: str, others: Sequence[str]) -> Iterator[tuple[str, Scopes]]:
    """Smaller requests than `asked` on `target`, the nearest first. Pure."""
    for size in range(len(asked), 0, -1):
        parts = [frozenset(part) for part in combinations(ordered(asked), size)]
        for place in (target, *others):
            yield from ((place, part) for part in parts if (place, part) != (target, asked))


def told(
    c: Connection,
    deps: Deps,
    task: repo.Record,
    target: repo.Record,
    row: repo.Record,
    now: datetime,
) -> Access:
    """Where a request stands and, where it was denied, what there is instead."""
    answer = access(c, row, target.name, task.id)
    if answer.status != "denied":
        return answer
    found = offering.open_of(c, row.id, now) or _allowed(c, deps, task, target, row, now)
    return answer.model_copy(update={"instead": found})


def _allowed(
    c: Connection,
    deps: Deps,
    task: repo.Record,
    target: repo.Record,
    row: repo.Record,
    now: datetime,
) -> Offer | None:
    """What the rules would allow without asking anybody."""
    asked = _asked(row)
    known = {
        each.name: each
        for each in repo.targets(c, (task.project_id,), target.provider)[:MOST_TARGETS]
        if not each.expired
    }
    others = [name for name in known if name != target.name]
    for name, scopes in nearer(asked.scopes, target.name, others):
        there = known.get(name)
        same = asked if scopes == asked.scopes else Asked(scopes, duration=asked.duration)
        if there is None or evaluate(c, deps, task, there, same, now).effect is not Effect.ALLOW:
            continue
        duration: Any = asked.duration if asked.duration in OFFERED else Duration.HOUR
        return Offer(target=name, scopes=ordered(scopes), duration=duration)
    return None


def _asked(row: repo.Record) -> Asked:
    """What a request's row asked for."""
    names = ("exact", "surface", "operation", "understood", "reason")
    made = Asked(frozenset(Scope(s) for s in row.scopes), tuple(row.command), row.command_digest)
    return replace(
        made, duration=Duration(row.duration), **{name: getattr(row, name) for name in names}
    )
