"""Counter-offers: what an approver would allow instead, signed with the denial.

The task accepts by asking for just that: what its offer covers is granted at once, in the name and
on the signature of whoever made it. Rules are asked again then, and can still deny it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection, select, update
from styx_core.contract.grants import Decide, Offer
from styx_core.contract.values import SessionSignature
from styx_core.db import into
from styx_core.errors import Forbidden, Invalid
from styx_core.scope import Scope, Scopes, ordered

from styx_grants import people_rows as people
from styx_grants import proofs
from styx_grants import repository as repo
from styx_grants.asking import Asked, evaluate
from styx_grants.deps import Deps
from styx_grants.models import OfferRow
from styx_grants.policy_terms import Decision, Effect

OFFER: Final = OfferRow.metadata.tables["offer"]
STANDS: Final = timedelta(hours=1)


@dataclass(frozen=True)
class Made:
    """An offer that the rules let this person make."""

    offer: Offer
    target: repo.Record
    mfa: bool

    def words(self) -> str:
        """In a line."""
        scopes = ", ".join(ordered(Scope(s) for s in self.offer.scopes))
        return f"{scopes} on {self.target.name} for {self.offer.duration}"

    def signed(self) -> Mapping[str, object]:
        """Its part of what is signed."""
        return {
            "target": self.target.name,
            "env": self.target.env,
            "scopes": list(ordered(Scope(s) for s in self.offer.scopes)),
            "duration": self.offer.duration,
        }


def offered(
    c: Connection, deps: Deps, command: Decide, grant: repo.Record, now: datetime
) -> Made | None:
    """The offer in a decision. Raises `Invalid` or `Forbidden` for one that can't be made."""
    offer = command.choice.offer
    if offer is None:
        return None
    if command.choice.verdict != "deny":
        raise Invalid("offer: it goes with a denial; to allow less, approve with fewer scopes")
    task = c.execute(select(repo.TASK).where(repo.TASK.c.id == grant.task_id)).one()
    target = repo.target_named(c, grant.project_id, offer.target)
    said = evaluate(c, deps, task, target, Asked(frozenset(offer.scopes)), now)
    if not _may(c, said, command.person, task):
        raise Forbidden(f"offer: the rules don't let you allow this alone: {said.why}")
    return Made(offer, target, said.mfa)


def _may(c: Connection, said: Decision, person: str, task: repo.Record) -> bool:
    """Whether this person alone may allow what was put to the rules."""
    roles = people.roles_in(c, person, task.project_id)
    able = said.effect is not Effect.DENY and said.quorum <= 1
    return (
        able and not people.DECIDING.isdisjoint(roles) and said.admits(person, roles, task.person)
    )


def keep(
    c: Connection, made: Made, command: Decide, task_id: str, payload: str, now: datetime
) -> None:
    """Keep an offer for an hour."""
    values = {
        "grant_id": command.choice.grant_id,
        "task_id": task_id,
        "target_id": made.target.id,
        "scopes": list(ordered(Scope(s) for s in made.offer.scopes)),
        "duration": made.offer.duration,
        "mfa": not isinstance(command.signature, SessionSignature),
        "person": command.person,
        "payload": payload,
        "signature": proofs.text(command.signature),
        "expires_at": now + STANDS,
    }
    c.execute(into(OFFER), values)


def standing(
    c: Connection,
    task: repo.Record,
    target: repo.Record,
    scopes: Scopes,
    said: Decision,
    now: datetime,
) -> repo.Record | None:
    """The offer that covers what a task asks for, if whoever made it could still allow it."""
    query = select(OFFER).where(
        OFFER.c.task_id == task.id, OFFER.c.target_id == target.id, OFFER.c.taken_by.is_(None)
    )
    for row in c.execute(query):
        fits = scopes <= set(row.scopes) and row.expires_at > now and (row.mfa or not said.mfa)
        if fits and _may(c, said, row.person, task):
            return row
    return None


def open_of(c: Connection, grant_id: str, now: datetime) -> Offer | None:
    """What was offered with the denial of this request, while it stands."""
    mine = OFFER.c.grant_id == grant_id
    row = c.execute(select(OFFER).where(mine, OFFER.c.taken_by.is_(None))).one_or_none()
    if row is None or row.expires_at <= now:
        return None
    name = repo.target_named(c, repo.grant(c, grant_id).project_id, row.target_id).name
    return Offer(target=name, scopes=tuple(row.scopes), duration=row.duration)


def take(c: Connection, offer: repo.Record, grant_id: str) -> None:
    """Use an offer up."""
    c.execute(update(OFFER).where(OFFER.c.grant_id == offer.grant_id).values(taken_by=grant_id))
