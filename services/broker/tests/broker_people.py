"""The part of the played `grants` that knows people: the first key is trusted, the rest checked."""

from dataclasses import dataclass, field
from datetime import timedelta

from broker_adapters import START
from styx_core.contract import grants_people as p
from styx_core.contract.base import Done
from styx_core.contract.values import Proof, Role
from styx_core.errors import Forbidden, SignatureRefused
from styx_core.signing import invite_payload, remove_key_payload, role_payload, verify


@dataclass
class PeopleRows:
    """Whose key is whose, and who may do what."""

    approvers: dict[str, str] = field(default_factory=dict)
    roles: dict[str, dict[str, Role]] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)


class PlayedPeople:
    """Takes the first key, and from then on what its holder signs."""

    rows: PeopleRows

    async def enrol_approver(self, command: p.EnrolApprover) -> p.Membership:
        if self.rows.approvers:
            raise Forbidden("this link is wrong, was used already or is too old; ask for another")
        if isinstance(command.key, str):
            self.rows.approvers[command.person] = command.key
        self.rows.roles[command.person] = {p.EVERYWHERE: "owner"}
        return await self.get_membership(p.GetMembership(person=command.person))

    async def get_membership(self, command: p.GetMembership) -> p.Membership:
        roles = self.rows.roles.get(command.person, {})
        return p.Membership(person=command.person, roles=roles)

    async def open_session(self, command: p.OpenSession) -> p.Session:
        """Whoever's name stands where the passkey's id should."""
        person = command.signature.credential_id
        if person not in self.rows.roles:
            raise SignatureRefused("this passkey is not known here; sign in with another")
        until = START + timedelta(hours=12)
        return p.Session(person=person, session="5" * 64, expires_at=until)

    async def close_session(self, command: p.CloseSession) -> Done:
        self.rows.closed.append(command.session)
        return Done()

    async def list_people(self, _command: p.ListPeople) -> p.PeopleList:
        shown = [p.PersonView(person=n, roles=r, keys=()) for n, r in self.rows.roles.items()]
        return p.PeopleList(people=tuple(shown))

    async def invite(self, command: p.Invite) -> Done:
        said = command.model_dump(include={"code_sha256", "person", "where", "role", "seconds"})
        self.signed(command.by_person, invite_payload(**said), command.signature)
        return Done()

    async def change_role(self, command: p.ChangeRole) -> p.Membership:
        said = command.model_dump(include={"person", "where", "role", "nonce"})
        self.signed(command.by_person, role_payload(**said), command.signature)
        self.rows.roles[command.person] = {command.where: command.role} if command.role else {}
        return await self.get_membership(p.GetMembership(person=command.person))

    async def remove_key(self, command: p.RemoveKey) -> Done:
        payload = remove_key_payload(key_id=command.key_id)
        self.signed(command.by_person, payload, command.signature)
        return Done()

    def signed(self, person: str, payload: str, signature: Proof) -> None:
        if not isinstance(signature, str):
            raise SignatureRefused("no browser signs here")
        if person not in self.rows.approvers:
            raise Forbidden(f"{person} is not an approver here")
        verify(self.rows.approvers[person], payload, signature)
