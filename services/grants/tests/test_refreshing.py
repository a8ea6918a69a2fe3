"""Targets' logins: a refusal marks, a blip does not, and what works again is unmarked."""

from collections.abc import Callable
from typing import Any

import pytest
from grants_fixture import World, opened
from sqlalchemy import update
from styx_core.contract.adapters import CheckHealth
from styx_core.contract.base import Command
from styx_core.contract.grants import CheckTarget
from styx_core.contract.grants_events import TargetHealthChanged
from styx_core.contract.values import HealthAnswer
from styx_core.errors import LoginExpired, NotConnected, Unavailable, UnknownTarget
from styx_core.ids import new_id
from styx_grants import repository as repo
from styx_grants.refreshing import Refresher

grants = pytest.fixture(opened)

WORKS = HealthAnswer(ok=True, expired=False, detail="somebody")
EXPIRED = HealthAnswer(ok=False, expired=True, detail="refused")
BLIP = HealthAnswer(ok=False, expired=False, detail="no answer")


class Health:
    """What `adapters` answers to a check, by target's credential."""

    def __init__(self) -> None:
        self.answers: dict[str, HealthAnswer | Unavailable] = {}

    async def check_health(self, command: CheckHealth) -> HealthAnswer:
        """As set; where nothing is set, all is well."""
        answer = self.answers.get(command.credential_ref, WORKS)
        if isinstance(answer, Unavailable):
            raise answer
        return answer


async def serve(grants: World, health: Health) -> dict[str, str]:
    """Have it answer; the credential of each target by its id."""
    bus = grants.bus.as_service("adapters")
    await bus.serve("adapters", {CheckHealth: health.check_health})
    return {row.id: row.credential_ref for row in await grants.rows(repo.TARGET)}


async def expired(grants: World) -> set[str]:
    """The ids of targets that are marked."""
    return {row.id for row in await grants.rows(repo.TARGET) if row.expired}


@pytest.mark.parametrize("answer", [BLIP, Unavailable("adapters are away")], ids=["blip", "away"])
async def test_only_a_refusal_marks(grants: World, answer: HealthAnswer | Unavailable) -> None:
    health = Health()
    refs = await serve(grants, health)
    health.answers = dict.fromkeys(refs.values(), answer)
    await Refresher(grants.deps).once()
    assert await expired(grants) == set()
    assert await grants.events(TargetHealthChanged) == []


async def test_a_refused_login_is_marked_once_and_unmarked_when_it_works(grants: World) -> None:
    health = Health()
    refs = await serve(grants, health)
    which, ref = next(iter(refs.items()))
    health.answers = {ref: EXPIRED}
    for _ in range(2):
        await Refresher(grants.deps).once()
        assert await expired(grants) == {which}
    health.answers = {ref: BLIP}
    await Refresher(grants.deps).once()
    assert await expired(grants) == {which}, "a blip proves nothing either way"
    health.answers = {}
    await Refresher(grants.deps).once()
    assert await expired(grants) == set()
    told = await grants.events(TargetHealthChanged)
    assert [(event.expired, event.detail) for event in told] == [
        (True, "refused"),
        (False, "somebody"),
    ]


async def test_one_target_that_cannot_be_tried_hides_no_other(grants: World) -> None:
    health = Health()
    refs = await serve(grants, health)
    (first, second), *_ = [tuple(refs)[:2]]
    health.answers = {refs[first]: Unavailable("away"), refs[second]: EXPIRED}
    await Refresher(grants.deps).once()
    assert await expired(grants) == {second}


async def test_a_person_may_have_one_tried_now(grants: World) -> None:
    health = Health()
    refs = await serve(grants, health)
    which, ref = next(iter(refs.items()))
    health.answers = {ref: EXPIRED}
    assert await grants.say(CheckTarget(target_id=which)) == EXPIRED
    assert await expired(grants) == {which}
    said = await grants.refused(UnknownTarget, CheckTarget(target_id=new_id("tgt")))
    assert "styx targets" in said


async def test_a_refused_call_marks_only_a_login_that_is_refused_too(grants: World) -> None:
    """A provider may refuse one call (a role's trust, say) of a login that works."""
    await grants.given()
    health = Health()
    refs = await serve(grants, health)
    grants.adapters.fails = LoginExpired("aws refuses the key")
    for answer, marked in [(WORKS, 0), (BLIP, 0), (Unavailable("away"), 0), (EXPIRED, 1)]:
        health.answers = dict.fromkeys(refs.values(), answer)
        with pytest.raises(LoginExpired):
            await grants.ask()
        assert len(await expired(grants)) == marked


@pytest.mark.parametrize("ask", [World.call, World.ahead], ids=["call", "ahead"])
async def test_after_a_new_login_the_next_call_works(
    grants: World, ask: Callable[..., Command[Any]]
) -> None:
    await grants.given()
    health = Health()
    refs = await serve(grants, health)
    await grants.deps.db.write(lambda c: c.execute(update(repo.TARGET).values(expired=True)))
    for answer in (EXPIRED, BLIP, Unavailable("away")):
        health.answers = dict.fromkeys(refs.values(), answer)
        assert "reconnect it" in await grants.refused(NotConnected, ask(grants))
    health.answers = {}
    assert await grants.say(ask(grants))
    assert len(await expired(grants)) == len(refs) - 1
