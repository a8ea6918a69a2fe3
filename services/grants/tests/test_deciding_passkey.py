"""A decision by passkey or by a signed-in browser: whose it is, over what, and how often."""

from typing import Any

import pytest
from grants_fixture import DAY, OWNER, WEB, World, opened
from soft_passkey import SoftPasskey, SoftSession
from styx_core.contract import grants_people as p
from styx_core.contract.grants import Choice, Decide
from styx_core.contract.grants_events import GrantDecided
from styx_core.contract.values import Assertion, Batch, Proof
from styx_core.errors import AlreadyDecided, Forbidden, SignatureRefused
from styx_core.signing import (
    batch_payload,
    challenge,
    decision_payload,
    enrol_payload,
    invite_payload,
    sign,
    signin_payload,
)
from styx_grants import repository as repo

grants = pytest.fixture(opened)

Browser = tuple[SoftPasskey, SoftSession]


async def browser(grants: World, person: str = OWNER, code: str = "c", **role: Any) -> Browser:
    """A person's passkey and the session that it opened."""
    passkey, session = SoftPasskey(origin=WEB, host="styx.example"), SoftSession()
    about = {"person": person, "where": "*", "role": None, **role}
    said = {"code_sha256": code * 64, **about, "seconds": 600}
    by = OWNER if role else person
    signature = sign(grants.keys[by], invite_payload(**said))
    await grants.say(p.Invite(**said, by_person=by, signature=signature))
    enrol = passkey.register(enrol_payload(person=person, code_sha256=code * 64))
    await grants.say(p.EnrolApprover(person=person, code_sha256=code * 64, key=enrol))
    payload = signin_payload(nonce=code * 20, session_key=session.point)
    signed = passkey.sign(payload)
    opened_by = {"nonce": code * 20, "session_key": session.point, "signature": signed}
    await grants.say(p.OpenSession(**opened_by))
    return passkey, session


async def asked(grants: World, target: str = "prod", digest: str = "d") -> str:
    """A delete that waits; on prod it needs a passkey."""
    call = await grants.ask("delete", target=target, command_digest=digest * 64)
    return call.access.grant_id


async def payload_of(grants: World, which: str, verdict: str = "approve", **over: Any) -> str:
    """What a page would have signed for a request."""
    (row,) = await grants.rows(repo.GRANT, id=which)
    (at,) = await grants.rows(repo.TARGET, id=row.target_id)
    said = {"grant_id": which, "verdict": verdict, "target": at.name, "env": at.env}
    said |= {"scopes": row.scopes, "duration": row.duration, "command": row.command}
    return decision_payload(**{**said, **over})


def decide(grant_id: str, proof: Proof, person: str = OWNER, **choice: Any) -> Decide:
    whole = {"grant_id": grant_id, "verdict": "approve", **choice}
    return Decide(choice=Choice(**whole), person=person, signature=proof)


async def test_a_passkey_approves_and_its_assertion_is_the_evidence(grants: World) -> None:
    passkey, _ = await browser(grants)
    grant_id = await asked(grants)
    payload = await payload_of(grants, grant_id)
    proof = passkey.sign(payload)
    assert (await grants.say(decide(grant_id, proof))).status == "active"
    (told,) = await grants.events(GrantDecided)
    assert told.payload == payload
    assert Assertion.model_validate_json(told.signature or "") == proof
    (kept,) = await grants.rows(repo.APPROVAL)
    assert kept.signature == told.signature


async def test_being_signed_in_is_enough_where_no_passkey_is_due(grants: World) -> None:
    _, session = await browser(grants)
    grant_id = await asked(grants, "staging")
    payload = await payload_of(grants, grant_id)
    assert (await grants.say(decide(grant_id, session.sign(payload)))).status == "active"


async def test_being_signed_in_is_not_enough_on_prod_but_to_deny(grants: World) -> None:
    _, session = await browser(grants)
    grant_id = await asked(grants)
    proof = session.sign(await payload_of(grants, grant_id))
    refusal = await grants.refused(SignatureRefused, decide(grant_id, proof))
    assert "needs your passkey" in refusal
    no = session.sign(await payload_of(grants, grant_id, "deny"))
    assert (await grants.say(decide(grant_id, no, verdict="deny"))).status == "denied"


@pytest.mark.parametrize(
    "signed",
    [
        {"verdict": "deny"},
        {"target": "staging"},
        {"env": "staging"},
        {"scopes": ["read"]},
        {"duration": "15m"},
        {"command": ["aws", "s3", "ls", "s3://other"]},
        {"grant_id": "grt_00000000000000000000000000"},
    ],
    ids=lambda signed: next(iter(signed)),
)
async def test_a_passkey_over_another_decision_decides_nothing(
    grants: World, signed: dict[str, Any]
) -> None:
    passkey, session = await browser(grants)
    grant_id = await asked(grants)
    payload = await payload_of(grants, grant_id, **signed)
    await grants.refused(SignatureRefused, decide(grant_id, passkey.sign(payload)))
    staging = await asked(grants, "staging")
    payload = await payload_of(grants, staging, **{**signed, "target": "another"})
    await grants.refused(SignatureRefused, decide(staging, session.sign(payload)))


async def test_a_replayed_assertion_decides_nothing(grants: World) -> None:
    passkey, _ = await browser(grants)
    first, second = await asked(grants), await asked(grants, digest="e")
    assert first != second
    proof = passkey.sign(await payload_of(grants, first))
    await grants.refused(SignatureRefused, decide(second, proof))
    await grants.say(decide(first, proof))
    await grants.refused(SignatureRefused, decide(first, proof))
    await grants.refused(SignatureRefused, decide(second, proof))
    fresh = passkey.sign(await payload_of(grants, first))
    await grants.refused(AlreadyDecided, decide(first, fresh))


async def test_a_copied_passkey_is_noticed_by_its_counter(grants: World) -> None:
    passkey, _ = await browser(grants)
    grant_id = await asked(grants)
    passkey.step = 0
    proof = passkey.sign(await payload_of(grants, grant_id))
    assert "copied" in await grants.refused(SignatureRefused, decide(grant_id, proof))


async def batch(grants: World, passkey: SoftPasskey, *ids: str, verdict: str = "approve") -> Batch:
    """One touch over several decisions."""
    payloads = [await payload_of(grants, each, verdict) for each in ids]
    each = tuple(challenge(payload).hex() for payload in payloads)
    return Batch(each=each, signature=passkey.sign(batch_payload(each)))


async def test_one_touch_approves_what_it_was_over_and_nothing_else(grants: World) -> None:
    passkey, _ = await browser(grants)
    first, second, third = [await asked(grants, digest=d) for d in "def"]
    proof = await batch(grants, passkey, first, second)
    for each in (first, second):
        assert (await grants.say(decide(each, proof))).status == "active"
    told = await grants.events(GrantDecided)
    for event in told:
        assert Batch.model_validate_json(event.signature or "") == proof
        assert challenge(event.payload or "").hex() in proof.each
    await grants.refused(SignatureRefused, decide(third, proof))
    await grants.refused(AlreadyDecided, decide(first, proof))
    await grants.refused(SignatureRefused, decide(third, proof, verdict="deny"))
    alone = passkey.sign(await payload_of(grants, third))
    assert (await grants.say(decide(third, alone))).status == "active"


async def test_a_batch_that_was_altered_or_is_another_s_decides_nothing(grants: World) -> None:
    passkey, _ = await browser(grants)
    theirs, _ = await browser(grants, "ada", "a", role="approver")
    first, second = await asked(grants), await asked(grants, digest="e")
    proof = await batch(grants, passkey, first)
    added = challenge(await payload_of(grants, second)).hex()
    grown = proof.model_copy(update={"each": (*proof.each, added)})
    await grants.refused(SignatureRefused, decide(second, grown))
    await grants.refused(SignatureRefused, decide(first, grown))
    other = await batch(grants, theirs, first, second)
    await grants.refused(SignatureRefused, decide(first, other))
    assert (await grants.say(decide(first, proof))).status == "active"
    await grants.refused(SignatureRefused, decide(second, proof))
    assert (await grants.say(decide(second, other, "ada"))).status == "active"
    narrowed = decide(first, proof, scopes=())
    await grants.refused(AlreadyDecided, narrowed)


async def test_another_person_s_passkey_or_session_is_not_theirs(grants: World) -> None:
    await grants.approver("lead")
    passkey, session = await browser(grants, "lead")
    for target, prove in (("prod", passkey.sign), ("staging", session.sign)):
        grant_id = await asked(grants, target)
        proof = prove(await payload_of(grants, grant_id))
        await grants.refused(SignatureRefused, decide(grant_id, proof, person=OWNER))
    grants.clock.on(DAY)
    grant_id = await asked(grants, "staging")
    proof = session.sign(await payload_of(grants, grant_id))
    refusal = await grants.refused(SignatureRefused, decide(grant_id, proof, person="lead"))
    assert "no longer signed in" in refusal


@pytest.mark.parametrize("role", ["member", "auditor"])
async def test_who_may_not_approve_cannot_by_any_signature(grants: World, role: str) -> None:
    passkey, session = await browser(grants, "ada", role=role)
    for target, prove in (("prod", passkey.sign), ("staging", session.sign)):
        grant_id = await asked(grants, target)
        proof = prove(await payload_of(grants, grant_id))
        refusal = await grants.refused(Forbidden, decide(grant_id, proof, person="ada"))
        assert "not an approver" in refusal
    other = await browser(
        grants, "eve", "d", role="approver", where="prj_00000000000000000000000000"
    )
    grant_id = await asked(grants, "staging")
    proof = other[1].sign(await payload_of(grants, grant_id))
    await grants.refused(Forbidden, decide(grant_id, proof, person="eve"))


@pytest.mark.parametrize("garbage", ["", "AAAA", "_" * 86, "A" * 86])
async def test_garbage_of_a_session_is_refused(grants: World, garbage: str) -> None:
    _, session = await browser(grants)
    grant_id = await asked(grants, "staging")
    proof = session.sign(await payload_of(grants, grant_id))
    wrong = proof.model_copy(update={"signature": garbage})
    await grants.refused(SignatureRefused, decide(grant_id, wrong))
    unknown = proof.model_copy(update={"session": "0" * 64})
    await grants.refused(SignatureRefused, decide(grant_id, unknown))
