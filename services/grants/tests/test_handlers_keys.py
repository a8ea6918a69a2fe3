"""Keys, roles and sessions: who comes in by what, and who may give what to whom."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grants_fixture import DAY, HOUR, OWNER, WEB, World, opened
from soft_passkey import SoftPasskey, SoftSession
from sqlalchemy import delete
from styx_core.contract import grants_people as p
from styx_core.contract.grants import RevokeGrant
from styx_core.errors import Forbidden, Invalid, SignatureRefused, UnknownGrant
from styx_core.ids import new_id, new_nonce
from styx_core.signing import (
    enrol_payload,
    invite_payload,
    public_key,
    remove_key_payload,
    role_payload,
    sign,
    signin_payload,
)
from styx_grants import people_rows as rows

grants = pytest.fixture(opened)

CODE = "c" * 64


def soft() -> SoftPasskey:
    return SoftPasskey(origin=WEB, host="styx.example")


def enrol(person: str, key: Any = None, code: str = CODE) -> p.EnrolApprover:
    """A passkey's enrolment, or a terminal's."""
    if isinstance(key, SoftPasskey):
        key = key.register(enrol_payload(person=person, code_sha256=code))
    key = key or public_key(Ed25519PrivateKey.generate())
    return p.EnrolApprover(person=person, code_sha256=code, key=key)


def invitation(grants: World, by: str = OWNER, **over: Any) -> p.Invite:
    """A link that `by` has signed; `unsigned` is changed after that."""
    changed = over.pop("unsigned", {})
    said = {"code_sha256": CODE, "person": None, "where": "*", "role": "approver", "seconds": 600}
    said |= over
    signature = sign(grants.keys[by], invite_payload(**said))
    return p.Invite(**{**said, **changed}, by_person=by, signature=signature)


def new_role(grants: World, person: str, role: str | None, **over: Any) -> p.ChangeRole:
    """A role that an owner has signed."""
    by = over.pop("by", OWNER)
    said = {"person": person, "where": "*", "role": role, "nonce": new_nonce(), **over}
    signature = sign(grants.keys[by], role_payload(**said))
    return p.ChangeRole(**said, by_person=by, signature=signature)


def entering(passkey: SoftPasskey, session: SoftSession, nonce: str = "n" * 20) -> p.OpenSession:
    """A browser that signs in."""
    payload = signin_payload(nonce=nonce, session_key=session.point)
    signed = passkey.sign(payload)
    return p.OpenSession(nonce=nonce, session_key=session.point, signature=signed)


async def joined(grants: World, person: str, **how: Any) -> SoftPasskey:
    """Somebody who came in with a passkey."""
    await grants.say(invitation(grants, **how))
    passkey = soft()
    await grants.say(enrol(person, passkey))
    return passkey


async def nobody(grants: World) -> None:
    for table in (rows.KEY, rows.MEMBER):
        await grants.deps.db.write(lambda c, t=table: c.execute(delete(t)).rowcount)


@pytest.mark.parametrize("kind", ["passkey", "terminal"])
async def test_the_first_key_makes_the_owner(grants: World, kind: str) -> None:
    await nobody(grants)
    made = await grants.say(enrol("first", soft() if kind == "passkey" else None))
    assert (made.person, made.roles) == ("first", {"*": "owner"})
    (told,) = await grants.events(p.ApproverEnrolled)
    (key,) = await grants.rows(rows.KEY)
    assert (told.person, told.kind, told.public_key) == ("first", kind, key.public_key)
    await grants.refused(Forbidden, enrol("second"))


@pytest.mark.parametrize("key", ["", base64.b64encode(b"x" * 31).decode(), "AAAA"])
async def test_what_is_no_key_does_not_use_the_one_chance_up(grants: World, key: str) -> None:
    await nobody(grants)
    command = p.EnrolApprover(person="first", code_sha256=CODE, key=key)
    assert (await grants.refused(Invalid, command)).startswith("key: ")


async def test_a_passkey_that_signed_for_somebody_else_is_not_enrolled(grants: World) -> None:
    await grants.say(invitation(grants))
    registration = soft().register(enrol_payload(person="ada", code_sha256=CODE))
    await grants.refused(SignatureRefused, enrol("eve", registration))


async def test_an_invitation_is_used_once_and_gives_its_role(grants: World) -> None:
    await joined(grants, "ada", where=grants.project, role="member")
    found = await grants.say(p.GetMembership(person="ada"))
    assert found.roles == {grants.project: "member"}
    assert "used already" in await grants.refused(Forbidden, enrol("eve", soft()))
    (told,) = await grants.events(p.RoleChanged)
    assert (told.actor, told.person, told.role) == (OWNER, "ada", "member")


async def test_an_invitation_has_an_end(grants: World) -> None:
    await grants.say(invitation(grants, seconds=3600))
    grants.clock.on(HOUR)
    await grants.refused(Forbidden, enrol("ada", soft()))


async def test_an_invitation_for_somebody_is_nobody_else_s(grants: World) -> None:
    await grants.say(invitation(grants, person="ada"))
    assert "for ada" in await grants.refused(Forbidden, enrol("eve", soft()))
    assert (await grants.say(enrol("ada", soft()))).roles == {"*": "approver"}


async def test_nobody_takes_the_name_of_somebody_who_is_here(grants: World) -> None:
    await grants.say(invitation(grants))
    assert "another name" in await grants.refused(Forbidden, enrol(OWNER, soft()))


async def test_everybody_adds_keys_of_their_own(grants: World) -> None:
    await grants.approver("lead")
    await grants.say(invitation(grants, by="lead", person="lead", role=None))
    await grants.say(enrol("lead", soft()))
    (found,) = [x for x in (await grants.say(p.ListPeople())).people if x.person == "lead"]
    assert [key.kind for key in found.keys] == ["terminal", "passkey"]
    await grants.refused(Invalid, invitation(grants, by="lead", person=OWNER, role=None))
    await grants.refused(Forbidden, invitation(grants, by="lead", person="eve"))


@pytest.mark.parametrize(
    "changed",
    [{"role": "owner"}, {"where": new_id("prj")}, {"seconds": 601}, {"code_sha256": "d" * 64}],
    ids=lambda changed: next(iter(changed)),
)
async def test_an_invitation_is_as_it_was_signed(grants: World, changed: dict[str, Any]) -> None:
    await grants.refused(SignatureRefused, invitation(grants, unsigned=changed))


async def test_a_used_invitation_cannot_be_brought_back(grants: World) -> None:
    command = invitation(grants)
    await grants.say(command)
    await grants.say(enrol("ada", soft()))
    assert "used already" in await grants.refused(SignatureRefused, command)


async def test_an_owner_gives_and_takes_roles(grants: World) -> None:
    await joined(grants, "ada")
    changed = await grants.say(new_role(grants, "ada", "member", where=grants.project))
    assert changed.roles == {"*": "approver", grants.project: "member"}
    for where in ("*", grants.project):
        left = await grants.say(new_role(grants, "ada", None, where=where))
    assert left.roles == {}
    assert "no 'eve'" in await grants.refused(Invalid, new_role(grants, "eve", "owner"))
    command = new_role(grants, "ada", "approver")
    await grants.say(command)
    await grants.say(new_role(grants, "ada", None))
    await grants.refused(SignatureRefused, command)


async def test_only_an_owner_gives_roles_and_the_last_one_stays(grants: World) -> None:
    await grants.approver("lead")
    command = new_role(grants, "lead", "owner", by="lead", where=grants.project)
    await grants.refused(Forbidden, command)
    assert "last owner" in await grants.refused(Forbidden, new_role(grants, OWNER, None))
    await grants.say(new_role(grants, "lead", "owner"))
    assert (await grants.say(new_role(grants, OWNER, "member"))).roles["*"] == "member"


async def test_a_session_signs_in_by_a_passkey_and_ends(grants: World) -> None:
    passkey, session = await joined(grants, "ada"), SoftSession()
    made = await grants.say(entering(passkey, session))
    assert (made.person, made.session) == ("ada", session.id)
    (told,) = await grants.events(p.SessionOpened)
    assert (told.person, told.session) == ("ada", session.id)
    assert len(await grants.rows(rows.SESSION)) == 1
    await grants.say(p.CloseSession(session=session.id))
    assert await grants.rows(rows.SESSION) == []


async def test_a_sign_in_is_good_once_for_its_own_key(grants: World) -> None:
    passkey = await joined(grants, "ada")
    command = entering(passkey, SoftSession())
    await grants.say(command)
    await grants.refused(SignatureRefused, command)
    other = entering(passkey, SoftSession(), "m" * 20)
    swapped = other.model_copy(update={"session_key": SoftSession().point})
    await grants.refused(SignatureRefused, swapped)
    await grants.refused(Invalid, other.model_copy(update={"session_key": "AAAA"}))
    await grants.refused(SignatureRefused, entering(soft(), SoftSession()))


async def test_who_has_no_role_left_is_out_everywhere(grants: World) -> None:
    passkey = await joined(grants, "ada")
    await grants.say(entering(passkey, SoftSession()))
    await grants.say(new_role(grants, "ada", None))
    assert await grants.rows(rows.SESSION) == []
    refusal = await grants.refused(Forbidden, entering(passkey, SoftSession(), "m" * 20))
    assert "no role" in refusal


async def test_a_lost_key_is_taken_away_and_never_the_last_one(grants: World) -> None:
    passkey = await joined(grants, "ada")
    await grants.say(entering(passkey, SoftSession()))
    (key,) = await grants.rows(rows.KEY, person="ada")

    def removal(by: str) -> p.RemoveKey:
        signature = sign(grants.keys[by], remove_key_payload(key_id=key.id))
        return p.RemoveKey(key_id=key.id, by_person=by, signature=signature)

    await grants.approver("lead")
    assert "only an owner" in await grants.refused(Forbidden, removal("lead"))
    assert "last key" in await grants.refused(Forbidden, removal(OWNER))
    await grants.say(invitation(grants, by=OWNER, person="ada", code_sha256="e" * 64))
    await grants.say(enrol("ada", soft(), "e" * 64))
    await grants.say(removal(OWNER))
    assert await grants.rows(rows.SESSION) == []
    await grants.refused(SignatureRefused, entering(passkey, SoftSession(), "m" * 20))


async def test_a_stranger_revokes_nothing_and_learns_nothing(grants: World) -> None:
    grant_id = await grants.given()
    await joined(grants, "ada", where=new_id("prj"), role="owner")
    await joined(grants, "eve", where=grants.project, role="auditor", code_sha256=CODE)
    await grants.refused(UnknownGrant, RevokeGrant(grant_id=grant_id, person="ada"))
    await grants.refused(Forbidden, RevokeGrant(grant_id=grant_id, person="eve"))
    grants.clock.on(DAY)
