"""The commands about people's keys, roles and sessions."""

import base64
import hashlib
from datetime import timedelta
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import Connection, delete, select
from styx_core.contract.base import Done
from styx_core.contract.grants_people import (
    EVERYWHERE,
    ApproverEnrolled,
    ChangeRole,
    CloseSession,
    EnrolApprover,
    GetMembership,
    Invite,
    Invited,
    KeyRemoved,
    ListPeople,
    Membership,
    OpenSession,
    PeopleList,
    RemoveKey,
    RoleChanged,
    Session,
    SessionOpened,
)
from styx_core.contract.values import Registration
from styx_core.db import into
from styx_core.errors import Forbidden, Invalid
from styx_core.ids import new_id
from styx_core.signing import (
    enrol_payload,
    invite_payload,
    remove_key_payload,
    role_payload,
    signin_payload,
)

from styx_grants import people_rows as rows
from styx_grants import proofs
from styx_grants.deps import Deps

SESSION_HOURS: Final = 12


async def enrol_approver(command: EnrolApprover, deps: Deps) -> Membership:
    """A new key. The first of all is trusted because there is none yet, and never again."""
    now = deps.now()
    key = _new_key(command, deps)

    def save(c: Connection) -> Membership:
        if rows.nobody(c):
            where, role, by = EVERYWHERE, "owner", command.person
        else:
            invited = rows.invitation(c, command.code_sha256, now)
            if invited.person not in (None, command.person):
                raise Forbidden(f"this link is for {invited.person}, not for {command.person}")
            if invited.person is None and rows.membership(c, command.person).roles:
                raise Forbidden(f"person: there is a {command.person!r} already; take another name")
            where, role, by = invited.project_id, invited.role, invited.invited_by
        key_id = new_id("key")
        c.execute(into(rows.KEY), {"id": key_id, "enrolled_at": now, **key})
        told: dict[str, object] = {"at": now, "actor": by, "person": command.person}
        shown = {name: key[name] for name in ("kind", "public_key")}
        event = ApproverEnrolled(id=new_id("evt"), key_id=key_id, **told, **shown)
        deps.outbox.record(c, event)
        if role is not None:
            rows.set_role(c, command.person, where, role)
            change = RoleChanged(id=new_id("evt"), where=where, role=role, **told)
            deps.outbox.record(c, change)
        return rows.membership(c, command.person)

    return await deps.db.write(save)


def _new_key(command: EnrolApprover, deps: Deps) -> dict[str, object]:
    """Its row's own values. Raises `Invalid` or `SignatureRefused`."""
    if isinstance(command.key, Registration):
        payload = enrol_payload(person=command.person, code_sha256=command.code_sha256)
        made = deps.party.register(command.key, payload)
        label = command.key.label or "passkey"
        return {"person": command.person, "kind": "passkey", "label": label, **vars(made)}
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(command.key, validate=True))
    except ValueError:
        raise Invalid("key: not an Ed25519 key in base64; nobody was enrolled") from None
    about = {"person": command.person, "kind": "terminal", "label": "terminal"}
    return {**about, "public_key": command.key, "credential_id": None, "counter": 0}


async def invite(command: Invite, deps: Deps) -> Done:
    """A link by which somebody comes in; for a key of their own, everybody may make one."""
    now = deps.now()
    said = command.model_dump(include={"code_sha256", "person", "where", "role", "seconds"})
    payload = invite_payload(**said)

    def save(c: Connection) -> Done:
        proofs.proven_once(c, deps, command.by_person, payload, command.signature)
        if command.role is not None:
            rows.must_own(c, command.by_person, command.where)
        elif command.person != command.by_person:
            raise Invalid("role: name the role of whom you invite")
        values = {"project_id": command.where, "invited_by": command.by_person}
        values |= command.model_dump(include={"code_sha256", "person", "role"})
        until = now + timedelta(seconds=command.seconds)
        c.execute(into(rows.INVITATION), {**values, "expires_at": until})
        event = Invited(
            id=new_id("evt"),
            at=now,
            actor=command.by_person,
            person=command.person,
            role=command.role,
            payload=payload,
            signature=proofs.text(command.signature),
        )
        deps.outbox.record(c, event)
        return Done()

    return await deps.db.write(save)


async def change_role(command: ChangeRole, deps: Deps) -> Membership:
    """An owner gives or takes a role; who has none left is signed out everywhere."""
    now = deps.now()
    said = command.model_dump(include={"person", "where", "role"})
    payload = role_payload(**said, nonce=command.nonce)

    def save(c: Connection) -> Membership:
        proofs.proven_once(c, deps, command.by_person, payload, command.signature)
        rows.must_own(c, command.by_person, command.where)
        if not rows.keys(c, command.person):
            raise Invalid(f"person: there is no {command.person!r} here; invite them first")
        rows.set_role(c, command.person, command.where, command.role)
        left = rows.membership(c, command.person)
        if not left.roles:
            c.execute(delete(rows.SESSION).where(rows.SESSION.c.person == command.person))
        evidence = {"payload": payload, "signature": proofs.text(command.signature)}
        told = {"id": new_id("evt"), "at": now, "actor": command.by_person}
        deps.outbox.record(c, RoleChanged(**told, **said, **evidence))
        return left

    return await deps.db.write(save)


async def remove_key(command: RemoveKey, deps: Deps) -> Done:
    """A lost key signs nothing any more; its person's sessions end. Not the last owner's last."""
    now = deps.now()
    payload = remove_key_payload(key_id=command.key_id)

    def save(c: Connection) -> Done:
        key = c.execute(select(rows.KEY).where(rows.KEY.c.id == command.key_id)).one_or_none()
        if key is None:
            raise Invalid(f"key_id: there is no key {command.key_id[:40]!r}")
        proofs.proven(c, deps, command.by_person, payload, command.signature)
        if key.person != command.by_person:
            rows.must_own(c, command.by_person, EVERYWHERE)
        if len(rows.keys(c, key.person)) == 1:
            raise Forbidden(f"this is {key.person}'s last key; add another one first")
        c.execute(delete(rows.KEY).where(rows.KEY.c.id == key.id))
        c.execute(delete(rows.SESSION).where(rows.SESSION.c.person == key.person))
        told = {"id": new_id("evt"), "at": now, "actor": command.by_person}
        deps.outbox.record(c, KeyRemoved(**told, person=key.person, key_id=key.id))
        return Done()

    return await deps.db.write(save)


async def open_session(command: OpenSession, deps: Deps) -> Session:
    """A passkey signs in, whoever's it is."""
    now = deps.now()
    try:
        proofs.session_key(command.session_key)
    except ValueError:
        raise Invalid("session_key: not a point of P-256 in base64") from None
    payload = signin_payload(nonce=command.nonce, session_key=command.session_key)
    session = hashlib.sha256(command.session_key.encode()).hexdigest()
    until = now + timedelta(hours=SESSION_HOURS)

    def save(c: Connection) -> Session:
        key = proofs.passkey_of(c, command.signature)
        proofs.proven_once(c, deps, key.person, payload, command.signature)
        if not rows.membership(c, key.person).roles:
            raise Forbidden(f"{key.person} has no role here any more; ask an owner")
        c.execute(delete(rows.SESSION).where(rows.SESSION.c.expires_at <= now))
        values = {"id": session, "person": key.person, "public_key": command.session_key}
        c.execute(into(rows.SESSION), {**values, "expires_at": until})
        told = {"id": new_id("evt"), "at": now, "actor": key.person, "person": key.person}
        deps.outbox.record(c, SessionOpened(**told, key_id=key.id, session=session))
        return Session(person=key.person, session=session, expires_at=until)

    return await deps.db.write(save)


async def close_session(command: CloseSession, deps: Deps) -> Done:
    """Signed out: the key of the session signs nothing any more."""
    await deps.db.write(
        lambda c: c.execute(delete(rows.SESSION).where(rows.SESSION.c.id == command.session))
    )
    return Done()


async def get_membership(command: GetMembership, deps: Deps) -> Membership:
    """What somebody may do now."""
    return await deps.db.read(lambda c: rows.membership(c, command.person))


async def list_people(command: ListPeople, deps: Deps) -> PeopleList:
    """People by name, with their roles and keys."""
    return PeopleList(people=await deps.db.read(lambda c: rows.people(c, command.project_id)))
