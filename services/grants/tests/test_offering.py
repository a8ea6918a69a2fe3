"""Counter-offers: signed with the denial, taken by asking for just that, once, never for more."""

from typing import Any

import pytest
from grants_fixture import ALLOW, ASK, DENY, HOUR, OWNER, World, opened
from styx_core.contract.grants import Access, Authorized, Choice, Decide, Offer
from styx_core.contract.grants_events import GrantDecided
from styx_core.errors import Forbidden, Invalid, SignatureRefused, UnknownTarget
from styx_core.ids import new_id
from styx_core.signing import decision_payload, sign
from styx_grants import repository as repo
from styx_grants.offering import OFFER
from test_deciding_passkey import browser

grants = pytest.fixture(opened)

INSTEAD = {"target": "staging", "scopes": ("read",), "duration": "15m"}
TWO = ASK + "quorum = 2\n"
OTHERS = ASK + "own_agent = false\n"


async def denied(grants: World, **over: Any) -> str:
    """A prod delete that waits."""
    return (await grants.ask("delete", target="prod", **over)).access.grant_id


async def offering(
    grants: World, which: str, offer: Any = None, signed: Any = None, **how: Any
) -> Decide:
    """A denial with an offer; `signed` is what the signature says of it instead."""
    (row,) = await grants.rows(repo.GRANT, id=which)
    offer = {**INSTEAD, **(offer or {})}
    env = "prod" if offer["target"] == "prod" else "staging"
    shown = {**offer, "scopes": list(offer["scopes"]), "env": env, **(signed or {})}
    payload = decision_payload(
        grant_id=which,
        verdict="deny",
        target="prod",
        env="prod",
        scopes=row.scopes,
        duration=row.duration,
        command=row.command,
        offer=shown,
    )
    person = how.get("person", OWNER)
    prove = how.get("prove") or (lambda text: sign(grants.keys[person], text))
    choice = Choice(grant_id=which, verdict="deny", reason="not there", offer=Offer(**offer))
    return Decide(choice=choice, person=person, signature=prove(payload))


async def offered(grants: World, **offer: Any) -> Access:
    """A denial with such an offer, made."""
    return await grants.say(await offering(grants, await denied(grants), offer))


async def take(grants: World, *scopes: str, **over: Any) -> Authorized:
    """Ask for what was offered."""
    return await grants.ask(*(scopes or ("read",)), **over)


async def test_what_was_offered_is_had_by_asking_for_it(grants: World) -> None:
    said = await offered(grants)
    assert said.status == "denied"
    assert "not there" in said.why
    assert "owner offers read on staging for 15m instead" in said.why
    got = await take(grants)
    assert got.access.status == "active"
    assert got.access.decided_by == "user"
    assert got.sealed is not None
    denial, grant = await grants.events(GrantDecided)
    assert (grant.actor, grant.verdict, grant.decided_by) == (OWNER, "approve", "user")
    assert (grant.payload, grant.signature) == (denial.payload, denial.signature)
    assert grant.payload is not None
    assert '"offer":{"duration":"15m","env":"staging"' in grant.payload
    (row,) = await grants.rows(repo.GRANT, id=got.access.grant_id)
    assert (row.duration, (row.expires_at - row.created_at).seconds) == ("15m", 900)


async def test_asking_ahead_takes_it_too(grants: World) -> None:
    await offered(grants, scopes=("read", "write"))
    got = await grants.say(grants.ahead("write"))
    assert (got.status, got.scopes) == ("active", ("write",))


@pytest.mark.parametrize(
    ("scopes", "over"),
    [(("write",), {}), (("read", "write"), {}), (("read",), {"target": "prod"})],
)
async def test_more_than_was_offered_waits_as_ever(
    grants: World, scopes: tuple[str, ...], over: dict[str, str]
) -> None:
    await offered(grants)
    assert (await take(grants, *scopes, **over)).access.status == "pending"
    assert (await take(grants)).access.status == "active"


async def test_an_offer_is_taken_once_and_by_its_own_task(grants: World) -> None:
    await offered(grants)
    other = await grants.add(
        repo.TASK, project_id=grants.project, agent="agent", person="developer", ended=False
    )
    assert (await take(grants, task_id=other)).access.status == "pending"
    first = (await take(grants)).access
    assert first.status == "active"
    grants.clock.on(HOUR)
    await grants.sweep()
    assert (await take(grants)).access.status == "pending"


async def test_an_offer_stands_for_an_hour(grants: World) -> None:
    await offered(grants)
    grants.clock.on(HOUR)
    assert (await take(grants)).access.status == "pending"


async def test_rules_are_asked_again_when_it_is_taken(grants: World) -> None:
    await offered(grants)
    await grants.policy(DENY)
    assert (await take(grants)).access.status == "denied"
    await grants.policy(TWO)
    assert (await take(grants)).access.status == "pending", "one approver is not enough now"
    await grants.policy(ALLOW)
    assert (await take(grants)).access.decided_by == "policy", "not used up where none is needed"
    (row,) = await grants.rows(OFFER)
    assert row.taken_by is None


async def test_who_may_not_approve_any_more_offers_nothing_any_more(grants: World) -> None:
    await grants.approver("lead")
    which = await denied(grants)
    await grants.say(await offering(grants, which, person="lead"))
    await grants.policy(ASK + 'approvers = ["role:owner"]\n')
    assert (await take(grants)).access.status == "pending"


@pytest.mark.parametrize(
    "signed",
    [{"target": "prod"}, {"env": "prod"}, {"scopes": ["read", "write"]}, {"duration": "8h"}],
    ids=lambda signed: next(iter(signed)),
)
async def test_an_offer_is_as_it_was_signed(grants: World, signed: dict[str, Any]) -> None:
    which = await denied(grants)
    await grants.refused(SignatureRefused, await offering(grants, which, signed=signed))


async def test_an_offer_cannot_be_added_to_a_plain_denial(grants: World) -> None:
    which = await denied(grants)
    plain = await grants.choose(which, "deny")
    choice = plain.choice.model_copy(update={"offer": Offer(**INSTEAD)})
    await grants.refused(SignatureRefused, plain.model_copy(update={"choice": choice}))
    await grants.say(plain)


@pytest.mark.parametrize(("rules", "why"), [(DENY, "rules"), (TWO, "rules"), (OTHERS, "rules")])
async def test_no_offer_of_what_one_person_may_not_allow(
    grants: World, rules: str, why: str
) -> None:
    which = await denied(grants)
    await grants.policy(rules)
    if rules is OTHERS:
        await grants.deps.db.write(
            lambda c: c.execute(repo.TASK.update().values(person=OWNER)).rowcount
        )
    assert why in await grants.refused(Forbidden, await offering(grants, which))


async def test_an_offer_on_prod_needs_a_passkey_though_a_denial_does_not(grants: World) -> None:
    passkey, session = await browser(grants)
    prod = {"target": "prod", "scopes": ("write",)}
    which = await denied(grants)
    weak = await offering(grants, which, prod, prove=session.sign)
    assert "needs your passkey" in await grants.refused(SignatureRefused, weak)
    await grants.say(await offering(grants, which, prod, prove=passkey.sign))
    assert (await take(grants, "write", target="prod")).access.status == "active"


async def all_are(grants: World, env: str) -> None:
    """Every target's env, changed."""
    await grants.deps.db.write(lambda c: c.execute(repo.TARGET.update().values(env=env)).rowcount)


async def test_what_a_session_offered_is_not_enough_once_a_passkey_is_due(grants: World) -> None:
    _, session = await browser(grants)
    await grants.say(await offering(grants, await denied(grants), prove=session.sign))
    await grants.deps.db.write(
        lambda c: c.execute(repo.TARGET.update().values(env="prod")).rowcount
    )
    assert (await take(grants, "read")).access.status == "active", "a read needs none"
    which = await denied(grants, command_digest="e" * 64)
    await all_are(grants, "staging")
    writing = {"scopes": ("write",)}
    signed = {"target": "staging", "env": "staging"}
    command = await offering(grants, which, writing, signed, prove=session.sign)
    choice = command.choice
    payload = decision_payload(
        grant_id=which, verdict="deny", target="prod", env="staging", scopes=("delete",),
        duration="1h", command=("aws", "s3", "ls"),
        offer={"target": "staging", "env": "staging", "scopes": ["write"], "duration": "15m"},
    )  # fmt: skip
    await grants.say(Decide(choice=choice, person=OWNER, signature=session.sign(payload)))
    await grants.deps.db.write(
        lambda c: c.execute(repo.TARGET.update().values(env="prod")).rowcount
    )
    assert (await take(grants, "write")).access.status == "pending"


async def test_an_offer_names_what_there_is_and_goes_with_a_denial(grants: World) -> None:
    which = await denied(grants)
    nowhere = await offering(grants, which, {"target": "nowhere"})
    await grants.refused(UnknownTarget, nowhere)
    command = await offering(grants, which)
    choice = command.choice.model_copy(update={"verdict": "approve"})
    await grants.refused(Invalid, command.model_copy(update={"choice": choice}))
    assert new_id("grt") != which
