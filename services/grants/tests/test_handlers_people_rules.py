"""Rules and approvers: who may change them, all or nothing, and each change on the record."""

import base64
import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from grants_fixture import ALLOW, ASK, DENY, OWNER, World, opened
from sqlalchemy import delete
from styx_core.contract.grants import EnrolApprover, PutPolicy, ReadPolicy
from styx_core.contract.grants_events import ApproverEnrolled, PolicyChanged
from styx_core.errors import Forbidden, Invalid, SignatureRefused
from styx_core.ids import new_id
from styx_core.signing import policy_payload, public_key, sign
from styx_grants import repository as repo

grants = pytest.fixture(opened)


TWO = ALLOW + ASK + '[rule.match]\nenv = ["prod"]\n'


def put(grants: World, toml: str, **over: Any) -> PutPolicy:
    """Rules that the owner has signed; `over` is changed after that."""
    signature = sign(grants.keys[OWNER], policy_payload(project_id=grants.project, toml=toml))
    fields = {"project_id": grants.project, "toml": toml, "person": OWNER}
    return PutPolicy(**{**fields, "signature": signature, **over})


async def rules(grants: World) -> str:
    return (await grants.say(ReadPolicy(project_id=grants.project))).toml


async def test_signed_rules_replace_those_before_and_are_told(grants: World) -> None:
    assert await rules(grants) == ""
    await grants.policy(DENY)
    await grants.say(put(grants, TWO))
    assert await rules(grants) == TWO
    told = (await grants.events(PolicyChanged))[-1]
    assert (told.actor, told.project_id, told.rules) == (OWNER, grants.project, 2)
    assert told.sha256 == hashlib.sha256((TWO).encode()).hexdigest()
    assert (await grants.say(ReadPolicy(project_id=new_id("prj")))).toml == ""


@pytest.mark.parametrize(
    ("toml", "named"),
    [
        ("[[rule", "the policy is not valid TOML"),
        (ALLOW.replace("effect", "efect"), "unknown key 'efect'; did you mean effect?"),
        (ALLOW.replace('"allow"', '"perhaps"'), "'perhaps' is not one of allow, ask, deny"),
        (ALLOW.replace("id", "# id"), "id is missing"),
        (ALLOW + ALLOW, "two rules have the id all"),
        (ALLOW + "quorum = 0\n", "quorum is 0, use 1 or more"),
        (ALLOW + 'max_seconds = "1h"\n', "'1h' is not a whole number"),
        (ALLOW + '[rule.match]\nscopes = ["admin"]\n', "'admin' is not one of read, write"),
        (ALLOW + "[rule.match]\ntarget = []\n", "rule all: "),
        (ALLOW + ASK, "rule all: careful matches whenever it does"),
        ("[settings]\n", "unknown key 'settings'"),
    ],
)
async def test_rules_with_a_fault_change_nothing_and_the_refusal_names_it(
    grants: World, toml: str, named: str
) -> None:
    await grants.policy(ASK)
    refusal = await grants.refused(Invalid, put(grants, toml))
    assert refusal.startswith("policy: ")
    assert named in refusal
    assert await rules(grants) == ASK


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"toml": ALLOW}, SignatureRefused),
        ({"project_id": new_id("prj")}, SignatureRefused),
        ({"signature": "AAAA"}, SignatureRefused),
        ({"person": "developer"}, Forbidden),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
async def test_rules_that_no_approver_signed_change_nothing(
    grants: World, changed: dict[str, Any], error: type[Forbidden | SignatureRefused]
) -> None:
    await grants.policy(ASK)
    await grants.refused(error, put(grants, DENY).model_copy(update=changed))
    assert await rules(grants) == ASK


async def test_one_approver_s_signature_is_not_another_s(grants: World) -> None:
    await grants.approver("lead")
    await grants.refused(SignatureRefused, put(grants, DENY, person="lead"))


async def nobody(grants: World) -> None:
    await grants.deps.db.write(lambda c: c.execute(delete(repo.APPROVER)).rowcount)


async def test_the_first_approver_is_trusted_and_can_sign_from_then_on(grants: World) -> None:
    await nobody(grants)
    key = Ed25519PrivateKey.generate()
    await grants.say(EnrolApprover(person="first", public_key=public_key(key)))
    (told,) = await grants.events(ApproverEnrolled)
    (row,) = await grants.rows(repo.APPROVER)
    assert (told.actor, told.public_key) == ("first", public_key(key))
    assert (row.person, row.roles) == ("first", ["owner"])
    asked = await grants.ask()
    command = await grants.choose(asked.access.grant_id, person="first", key=key)
    assert (await grants.say(command)).status == "active"


@pytest.mark.parametrize("person", ["second", OWNER])
async def test_nobody_comes_after_the_first(grants: World, person: str) -> None:
    key = public_key(Ed25519PrivateKey.generate())
    refusal = await grants.refused(Forbidden, EnrolApprover(person=person, public_key=key))
    assert "the link works only once" in refusal


@pytest.mark.parametrize(
    "key",
    ["", "no key", base64.b64encode(b"x" * 31).decode(), base64.b64encode(b"x" * 33).decode()],
)
async def test_what_is_no_key_does_not_use_the_one_chance_up(grants: World, key: str) -> None:
    await nobody(grants)
    refusal = await grants.refused(Invalid, EnrolApprover(person="first", public_key=key))
    assert refusal.startswith("public_key: ")
