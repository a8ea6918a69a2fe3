"""Rules: who may change them, all or nothing, and each change on the record."""

import hashlib
from typing import Any

import pytest
from grants_fixture import ALLOW, ASK, DENY, OWNER, World, opened
from styx_core.contract.grants import PutPolicy, ReadPolicy
from styx_core.contract.grants_events import PolicyChanged
from styx_core.errors import Forbidden, Invalid, SignatureRefused
from styx_core.ids import new_id, new_nonce
from styx_core.signing import policy_payload, sign

grants = pytest.fixture(opened)


TWO = ALLOW + ASK + '[rule.match]\nenv = ["prod"]\n'


def put(grants: World, toml: str, **over: Any) -> PutPolicy:
    """Rules that the owner has signed; `over` is changed after that."""
    said = {"project_id": grants.project, "toml": toml, "nonce": new_nonce()}
    signature = sign(grants.keys[OWNER], policy_payload(**said))
    return PutPolicy(**{**said, "person": OWNER, "signature": signature, **over})


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
        ({"nonce": new_nonce()}, SignatureRefused),
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


async def test_one_owner_s_signature_is_not_another_s(grants: World) -> None:
    await grants.approver("lead", "owner")
    await grants.refused(SignatureRefused, put(grants, DENY, person="lead"))


async def test_who_only_approves_makes_no_rules(grants: World) -> None:
    await grants.approver("lead")
    said = {"project_id": grants.project, "toml": DENY, "nonce": new_nonce()}
    signature = sign(grants.keys["lead"], policy_payload(**said))
    refusal = await grants.refused(Forbidden, PutPolicy(**said, person="lead", signature=signature))
    assert "only an owner" in refusal


async def test_signed_rules_are_taken_once(grants: World) -> None:
    """Else whoever had heard them could bring old rules back."""
    old = put(grants, ASK)
    await grants.say(old)
    await grants.policy(DENY)
    assert "used already" in await grants.refused(SignatureRefused, old)
    assert await rules(grants) == DENY
