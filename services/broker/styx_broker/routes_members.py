"""People: who is here and may do what, invitations, and keys. `grants` checks every signature."""

from fastapi import APIRouter
from pydantic import Field
from styx_core.contract.grants_people import (
    EVERYWHERE,
    ChangeRole,
    Invite,
    ListPeople,
    Membership,
    PersonView,
    RemoveKey,
    Where,
)
from styx_core.contract.values import Id, Name, Nonce, Proof, Role, Sha256

from styx_broker.auth import Caller, TheCaller, TheDeps, ThePerson
from styx_broker.routes_tasks import Body

router = APIRouter(tags=["people"])


class Invitation(Body):
    """A link to be: the hash of its code, whom it is for, and the inviter's signature.

    Without a role it adds a key of the inviter's own. The code itself stays with the inviter.
    """

    code_sha256: Sha256
    person: Name | None = None
    where: Where = EVERYWHERE
    role: Role | None = None
    seconds: int = Field(86_400, ge=60, le=7 * 86_400)
    signature: Proof


class NewRole(Body):
    """A role to give, or None to take it away."""

    where: Where
    role: Role | None
    nonce: Nonce
    signature: Proof


class Removal(Body):
    """The signature over a key's removal."""

    signature: Proof


@router.get("/v1/people")
async def people(deps: TheDeps, caller: TheCaller) -> list[PersonView]:
    """Everybody whom the caller works with, by name; keys are shown to owners and to their own."""
    listed = (await deps.bus.request(ListPeople())).people
    return [_seen(person, caller) for person in listed if _together(person, caller)]


def _together(person: PersonView, caller: Caller) -> bool:
    return person.person == caller.name or any(
        where == EVERYWHERE or caller.may(where) for where in person.roles
    )


def _seen(person: PersonView, caller: Caller) -> PersonView:
    """What a caller may know: no project that isn't theirs, no keys of others but to an owner."""
    roles = {where: role for where, role in person.roles.items() if caller.may(where)}
    whole = person.person == caller.name or caller.may(EVERYWHERE, "owner")
    return PersonView(person=person.person, roles=roles, keys=person.keys if whole else ())


@router.post("/v1/invitations", status_code=201)
async def invite(body: Invitation, deps: TheDeps, person: ThePerson) -> dict[str, int]:
    """Make a link valid. What is answered is how many seconds it lives."""
    await deps.bus.request(Invite(by_person=person.name, **dict(body)))
    return {"seconds": body.seconds}


@router.put("/v1/people/{named}/role")
async def change_role(named: Name, body: NewRole, deps: TheDeps, person: ThePerson) -> Membership:
    """Give or take a role."""
    return await deps.bus.request(ChangeRole(person=named, by_person=person.name, **dict(body)))


@router.post("/v1/keys/{key_id}/remove")
async def remove_key(key_id: Id, body: Removal, deps: TheDeps, person: ThePerson) -> dict[str, str]:
    """Take a key away."""
    await deps.bus.request(
        RemoveKey(key_id=key_id, by_person=person.name, signature=body.signature)
    )
    return {"removed": key_id}
