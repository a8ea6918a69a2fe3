"""The statements about people: their keys, roles and invitations."""

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select
from styx_core.contract.grants_people import EVERYWHERE, KeyView, Membership, PersonView
from styx_core.db import into
from styx_core.errors import Forbidden

from styx_grants.models import Invitation, Key, Member, SessionKey, Spent

KEY, MEMBER, INVITATION, SESSION, SPENT = (
    model.metadata.tables[str(model.__tablename__)]
    for model in (Key, Member, Invitation, SessionKey, Spent)
)

Record = Row[Any]

DECIDING = frozenset({"owner", "approver"})


def keys(c: Connection, person: str) -> list[Record]:
    """A person's keys, oldest first."""
    return list(c.execute(select(KEY).where(KEY.c.person == person).order_by(KEY.c.id)))


def nobody(c: Connection) -> bool:
    """Whether no key was ever enrolled."""
    return not c.execute(select(func.count()).select_from(KEY)).scalar_one()


def membership(c: Connection, person: str) -> Membership:
    """What somebody may do, by project."""
    found = c.execute(select(MEMBER).where(MEMBER.c.person == person))
    return Membership(person=person, roles={row.project_id: row.role for row in found})


def roles_in(c: Connection, person: str, project_id: str) -> frozenset[str]:
    """A person's roles where this project is concerned."""
    query = select(MEMBER.c.role).where(
        MEMBER.c.person == person, MEMBER.c.project_id.in_((project_id, EVERYWHERE))
    )
    return frozenset(c.execute(query).scalars())


def must_own(c: Connection, person: str, project_id: str) -> None:
    """Raises `Forbidden` unless this is an owner's business and theirs."""
    if "owner" not in roles_in(c, person, project_id):
        raise Forbidden(f"only an owner may do this, and {person} is none here")


def set_role(c: Connection, person: str, project_id: str, role: str | None) -> None:
    """Give a role, or take it away. Raises `Forbidden` for the last owner's."""
    c.execute(delete(MEMBER).where(MEMBER.c.person == person, MEMBER.c.project_id == project_id))
    if role is not None:
        c.execute(into(MEMBER), {"person": person, "project_id": project_id, "role": role})
    query = select(func.count()).select_from(MEMBER)
    owners = query.where(MEMBER.c.project_id == EVERYWHERE, MEMBER.c.role == "owner")
    if not c.execute(owners).scalar_one():
        raise Forbidden(f"{person} is the last owner of this Styx; make another one first")


def invitation(c: Connection, code_sha256: str, now: datetime) -> Record:
    """Use up an invitation. Raises `Forbidden` for one that is unknown, used or too old."""
    query = select(INVITATION).where(INVITATION.c.code_sha256 == code_sha256)
    row = c.execute(query.with_for_update()).one_or_none()
    if row is None or row.expires_at <= now:
        raise Forbidden("this link is wrong, was used already or is too old; ask for another")
    c.execute(delete(INVITATION).where(INVITATION.c.code_sha256 == code_sha256))
    return row


def people(c: Connection, project_id: str | None) -> tuple[PersonView, ...]:
    """Everybody with a role (in a project), by name."""
    named = {row.person for row in c.execute(select(MEMBER))}
    shown = []
    for person in sorted(named):
        roles = membership(c, person).roles
        if project_id is None or {project_id, EVERYWHERE} & set(roles):
            views = tuple(key_view(row) for row in keys(c, person))
            shown.append(PersonView(person=person, roles=roles, keys=views))
    return tuple(shown)


def key_view(row: Record) -> KeyView:
    """A key as people see it."""
    return KeyView(
        id=row.id,
        kind=row.kind,
        label=row.label,
        enrolled_at=row.enrolled_at,
        used_at=row.used_at,
    )
