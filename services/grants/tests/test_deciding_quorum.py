"""More than one yes: each approver counts once, all must mean the same, and only the last acts."""

import pytest
from grants_fixture import HOUR, OWNER, START, World, opened
from styx_core.contract.grants_events import ApprovalGiven, GrantDecided
from styx_core.errors import AlreadyDecided, Forbidden
from styx_grants import repository as repo

grants = pytest.fixture(opened)

TWO = """[[rule]]
id = "two"
effect = "ask"
quorum = 2
"""


async def waiting(grants: World, policy: str = TWO) -> str:
    """A request that needs two, before two who may; returns its id."""
    await grants.approver("lead")
    await grants.policy(policy)
    return (await grants.ask("read", "delete")).access.grant_id


async def test_the_first_yes_leaves_it_waiting_and_issues_nothing(grants: World) -> None:
    grant_id = await waiting(grants)
    first = await grants.decide(grant_id)
    assert (first.status, first.decided_by) == ("pending", None)
    assert (await grants.ask("read", "delete")).access.status == "pending"
    assert await grants.events(GrantDecided) == []
    assert grants.adapters.asked == []


async def test_the_second_gives_it_with_the_evidence_of_both(grants: World) -> None:
    grant_id = await waiting(grants)
    await grants.decide(grant_id)
    grants.clock.on(HOUR)
    last = await grants.decide(grant_id, person="lead")
    (told,) = await grants.events(GrantDecided)
    (first,) = await grants.events(ApprovalGiven)
    approvals = await grants.rows(repo.APPROVAL, grant_id=grant_id)
    assert (last.status, last.expires_at) == ("active", START + 2 * HOUR)
    assert {row.person for row in approvals} == {OWNER, "lead"}
    assert (first.actor, first.given, first.quorum, told.actor) == (OWNER, 1, 2, "lead")
    assert {first.signature, told.signature} == {row.signature for row in approvals}
    assert (await grants.ask("delete")).access.grant_id == grant_id


async def test_the_same_approver_counts_once(grants: World) -> None:
    grant_id = await waiting(grants)
    await grants.decide(grant_id)
    refusal = await grants.refused(AlreadyDecided, await grants.choose(grant_id))
    assert "it waits for others" in refusal


@pytest.mark.parametrize(
    "other", [{}, {"scopes": ("delete",)}, {"scopes": ("read",), "duration": "15m"}]
)
async def test_approvers_who_narrow_otherwise_must_agree(
    grants: World, other: dict[str, object]
) -> None:
    grant_id = await waiting(grants)
    await grants.decide(grant_id, scopes=("read",))
    command = await grants.choose(grant_id, person="lead", **other)
    assert "agree on one" in await grants.refused(AlreadyDecided, command)
    agreed = await grants.decide(grant_id, person="lead", scopes=("read",))
    assert (agreed.status, agreed.scopes) == ("active", ("read",))


async def test_one_no_is_enough(grants: World) -> None:
    grant_id = await waiting(grants)
    await grants.decide(grant_id)
    assert (await grants.decide(grant_id, "deny", person="lead")).status == "denied"


async def test_an_agent_s_own_person_is_not_one_of_the_two(grants: World) -> None:
    await grants.approver("developer")
    grant_id = await waiting(grants, TWO + "own_agent = false\n")
    await grants.decide(grant_id)
    await grants.refused(Forbidden, await grants.choose(grant_id, person="developer"))
    assert (await grants.decide(grant_id, person="lead")).status == "active"
