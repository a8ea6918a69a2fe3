"""What `grants` is asked about people: who they are by their keys, and what they may do. Pure.

`grants` holds every key and role, for it is the one who decides; `broker` holds only who is signed
in. All but the very first key comes in by an invitation that an owner signed.
"""

from typing import Literal

from pydantic import AwareDatetime, Field

from styx_core.contract.base import Command, Done, Event, Message
from styx_core.contract.values import (
    Assertion,
    Base64,
    Id,
    Line,
    Name,
    Nonce,
    Proof,
    Registration,
    Role,
    Sha256,
)

EVERYWHERE = "*"
"""In the place of a project's id: a role in all of them."""

Where = Id | Literal["*"]


class Membership(Message):
    """A person's role by project, or `EVERYWHERE`; none for somebody who has left."""

    person: str
    roles: dict[str, Role]


class EnrolApprover(Command[Membership], owner="grants", by=("broker",)):
    """A person's new key: the very first one, or one that an invitation is for.

    `code_sha256` is of the link's code. Of a terminal's key `key` is the public half (base64);
    a passkey signs `signing.enrol_payload`.
    """

    person: Name
    code_sha256: Sha256
    key: Base64 | Registration


class Invite(Command[Done], owner="grants", by=("broker",)):
    """A link by which somebody comes in, or a person adds a key of their own (`role` None)."""

    code_sha256: Sha256
    person: Name | None = None
    where: Where = EVERYWHERE
    role: Role | None = None
    seconds: int = Field(86_400, ge=60, le=7 * 86_400)
    by_person: Name
    signature: Proof


class ChangeRole(Command[Membership], owner="grants", by=("broker",)):
    """Give somebody one role in a project, or none."""

    person: Name
    where: Where
    role: Role | None
    by_person: Name
    nonce: Nonce
    signature: Proof


class RemoveKey(Command[Done], owner="grants", by=("broker",)):
    """One of a person's own keys is lost, or an owner takes it away."""

    key_id: Line
    by_person: Name
    signature: Proof


class Session(Message):
    """A web session whose key may sign until then."""

    person: str
    session: str
    expires_at: AwareDatetime


class OpenSession(Command[Session], owner="grants", by=("broker",)):
    """A passkey signed in, and vouched for the key that its web session signs with."""

    nonce: Line
    session_key: Base64
    signature: Assertion


class CloseSession(Command[Done], owner="grants", by=("broker",)):
    """A web session is over; its key signs nothing any more."""

    session: Sha256


class GetMembership(Command[Membership], owner="grants", by=("broker",)):
    """What somebody may do now."""

    person: Name


class KeyView(Message):
    """A key as people see it."""

    id: str
    kind: Literal["terminal", "passkey"]
    label: str
    enrolled_at: AwareDatetime
    used_at: AwareDatetime | None


class PersonView(Message):
    """Somebody, with their roles and keys."""

    person: str
    roles: dict[str, Role]
    keys: tuple[KeyView, ...]


class PeopleList(Message):
    """People by name."""

    people: tuple[PersonView, ...]


class ListPeople(Command[PeopleList], owner="grants", by=("broker",)):
    """Everybody, or the people of one project."""

    project_id: Id | None = None


class ApproverEnrolled(Event, owner="grants"):
    """A person may sign with this key."""

    person: str
    key_id: str
    kind: Literal["terminal", "passkey"]
    public_key: str


class Invited(Event, owner="grants"):
    """A link was signed by which somebody may come in."""

    person: str | None
    role: str | None
    payload: str
    signature: str


class RoleChanged(Event, owner="grants"):
    """What somebody may do in a project changed; None: nothing any more."""

    person: str
    where: str
    role: str | None
    payload: str | None = None
    signature: str | None = None


class KeyRemoved(Event, owner="grants"):
    """A key signs nothing any more."""

    person: str
    key_id: str


class SessionOpened(Event, owner="grants"):
    """Somebody signed in with a passkey."""

    person: str
    key_id: str
    session: str
