"""What a denied task is told it would have at once, and that asking for just that gets it."""

from typing import Any

import pytest
from grants_fixture import ALLOW, DENY, World, opened
from styx_core.contract.grants import Access, CheckGrant, Offer
from styx_core.scope import Scope
from styx_grants import repository as repo
from styx_grants.nearest import nearer
from test_offering import denied, offered

grants = pytest.fixture(opened)

PROD = '[rule.match]\nenv = ["prod"]\n'
STAGING = '[rule.match]\nenv = ["staging"]\n'
READ, WRITE = Scope.READ, Scope.WRITE


def test_what_keeps_most_comes_first_and_the_same_place_before_others() -> None:
    found = list(nearer(frozenset({READ, WRITE}), "prod", ("qa",)))
    both = frozenset({READ, WRITE})
    assert found == [
        ("qa", both),
        *(("prod", frozenset({s})) for s in (READ, WRITE)),
        *(("qa", frozenset({s})) for s in (READ, WRITE)),
    ]


async def asked(grants: World, *scopes: str, **over: Any) -> Access:
    """What an agent is told that asks ahead."""
    return await grants.say(grants.ahead(*scopes, target="prod", **over))


async def test_the_same_elsewhere_is_told_where_the_rules_allow_it_and_is_had(
    grants: World,
) -> None:
    await grants.policy(DENY + PROD + ALLOW + STAGING)
    told = await asked(grants, "read", "write", duration="8h")
    assert told.status == "denied"
    assert told.instead == Offer(target="staging", scopes=(READ, WRITE), duration="8h")
    again = await grants.say(grants.ahead("read", "write", target=told.instead.target))
    assert again.status == "active"


async def test_less_is_told_where_that_is_all_there_is(grants: World) -> None:
    changes = 'scopes = ["write"]\n'
    await grants.policy(DENY + PROD + changes + ALLOW + PROD)
    told = await asked(grants, "read", "write")
    assert told.instead == Offer(target="prod", scopes=(READ,), duration="1h")
    later = CheckGrant(task_id=grants.task, grant_id=told.grant_id)
    assert (await grants.say(later)).instead == told.instead


async def test_nothing_is_told_where_all_is_denied_or_asks(grants: World) -> None:
    await grants.policy(DENY + PROD)
    assert (await asked(grants, "write")).instead is None


async def test_a_target_whose_login_is_dead_is_not_told(grants: World) -> None:
    await grants.policy(DENY + PROD + ALLOW + STAGING)
    await grants.deps.db.write(
        lambda c: c.execute(
            repo.TARGET.update().where(repo.TARGET.c.name == "staging").values(expired=True)
        )
    )
    assert (await asked(grants, "write")).instead is None


async def test_a_persons_offer_comes_first(grants: World) -> None:
    said = await offered(grants)
    later = CheckGrant(task_id=grants.task, grant_id=said.grant_id)
    assert (await grants.say(later)).instead == Offer(
        target="staging", scopes=(READ,), duration="15m"
    )
    await grants.say(grants.ahead("read"))
    assert (await grants.say(later)).instead is None, "it was taken"


async def test_what_waits_has_no_instead(grants: World) -> None:
    later = CheckGrant(task_id=grants.task, grant_id=await denied(grants))
    found = await grants.say(later)
    assert (found.status, found.instead) == ("pending", None)
