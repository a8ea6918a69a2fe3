"""What people do: revoke, look, and connect targets."""

from typing import Any

import pytest
from grants_fixture import ALLOW, MINUTE, OWNER, World, opened, target, task
from sqlalchemy import select
from styx_core.contract.grants import ListGrants, ListTargets, RevokeGrant, SaveTarget
from styx_core.contract.grants_events import CredentialRevoked, GrantEnded, TargetSaved
from styx_core.errors import (
    AlreadyDecided,
    Forbidden,
    Invalid,
    SignatureRefused,
    Unauthenticated,
    UnknownGrant,
)
from styx_core.ids import new_id, new_nonce
from styx_core.signing import sign, target_payload
from styx_grants import repository as repo

grants = pytest.fixture(opened)


async def test_a_revoked_grant_is_over_at_once_and_so_is_its_credential(grants: World) -> None:
    grant_id = await grants.given()
    answer = await grants.ask()
    revoke = RevokeGrant(grant_id=grant_id, person=OWNER, reason="enough")
    said = await grants.say(revoke)
    (ended,) = await grants.events(GrantEnded)
    (revoked,) = await grants.events(CredentialRevoked)
    assert (said.status, said.why) == ("ended", "enough")
    assert (ended.actor, ended.state, ended.why) == (OWNER, "revoked", "enough")
    assert grants.adapters.revoked() == {revoked.lease_id} == {answer.sealed.lease_id}
    assert (await grants.ask()).access.status == "pending"


async def test_a_waiting_request_is_taken_away(grants: World) -> None:
    grant_id = (await grants.ask()).access.grant_id
    said = await grants.say(RevokeGrant(grant_id=grant_id, person=OWNER))
    (ended,) = await grants.events(GrantEnded)
    assert (said.status, ended.state, ended.why) == ("ended", "cancelled", "owner revoked it")
    assert grants.adapters.ended == []


async def test_what_is_over_or_unknown_cannot_be_revoked(grants: World) -> None:
    grant_id = await grants.given()
    revoke = RevokeGrant(grant_id=grant_id, person=OWNER)
    await grants.say(revoke)
    assert "already revoked" in await grants.refused(AlreadyDecided, revoke)
    unknown = RevokeGrant(grant_id=new_id("grt"), person=OWNER)
    await grants.refused(UnknownGrant, unknown)


async def three(grants: World) -> dict[str, str]:
    """A pending, an active and another project's denied grant, by these names."""
    pending = (await grants.ask("delete")).access.grant_id
    grants.clock.on(MINUTE)
    active = await grants.given("write")
    grants.clock.on(MINUTE)
    elsewhere = new_id("prj")
    await grants.add(repo.TARGET, **target(elsewhere, "theirs", "prod"))
    stranger = await grants.add(repo.TASK, **task(elsewhere))
    other = (await grants.ask("read", task_id=stranger, target="theirs")).access.grant_id
    await grants.decide(other, "deny")
    return {pending: "pending", active: "active", other: "other"}


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, ["other", "active", "pending"]),
        ({"limit": 2}, ["other", "active"]),
        ({"states": ("pending", "active")}, ["active", "pending"]),
        ({"states": ("denied",)}, ["other"]),
        ({"project": True}, ["active", "pending"]),
        ({"project": True, "states": ("denied",)}, []),
    ],
)
async def test_grants_are_listed_newest_first_by_project_and_state(
    grants: World, wanted: dict[str, Any], found: list[str]
) -> None:
    names = await three(grants)
    if wanted.pop("project", False):
        wanted = {**wanted, "projects": (grants.project,)}
    listed = await grants.say(ListGrants(**wanted))
    assert [names[grant.id] for grant in listed.grants] == found


async def test_a_listed_grant_shows_all_that_a_person_decides_by(grants: World) -> None:
    grant_id = await grants.given("read", "delete", reason="to tidy", command=("aws", "s3", "rm"))
    await grants.ask("delete")
    (seen,) = (await grants.say(ListGrants())).grants
    assert (seen.id, seen.state, seen.duration) == (grant_id, "active", "1h")
    assert (seen.agent, seen.person, seen.decided_person) == ("agent", "developer", OWNER)
    assert (seen.target, seen.provider, seen.env) == ("staging", "aws", "staging")
    assert (seen.scopes, seen.command) == (("read", "delete"), ("aws", "s3", "rm"))
    assert (seen.reason, seen.leases, seen.revocable) == ("to tidy", 1, "hard")


@pytest.mark.parametrize(
    ("duration", "lock"), [(None, "locked"), ("1h", "open"), ("always", "persistent")]
)
async def test_a_task_sees_how_each_target_stands_for_it(
    grants: World, duration: str | None, lock: str
) -> None:
    if duration is not None:
        await grants.given("read", "write", duration=duration)
    listed = await grants.say(ListTargets(task_id=grants.task))
    states = {each.name: (each.lock_state, each.scopes) for each in listed.targets}
    scopes = ("read", "write") if duration else ()
    assert states == {"prod": ("locked", ()), "staging": (lock, scopes)}


async def test_another_s_targets_are_not_listed_and_an_expired_login_shows(grants: World) -> None:
    await grants.add(repo.TARGET, **target(new_id("prj"), "theirs", "prod"))
    old = {**target(grants.project, "old", "staging"), "expired": True}
    await grants.add(repo.TARGET, **old)
    by_project = await grants.say(ListTargets(projects=(grants.project,)))
    assert [each.name for each in by_project.targets] == ["old", "prod", "staging"]
    assert by_project.targets[0].lock_state == "expired"
    await grants.refused(Unauthenticated, ListTargets(task_id=new_id("tsk")))


def connected(grants: World, person: str = OWNER, **over: Any) -> SaveTarget:
    """A target that the owner has signed for; `over` is changed after that."""
    which = over.pop("again", new_id("tgt"))
    shown = {"project_id": grants.project, "target_id": which, "name": "fresh"}
    signed = {**shown, "provider": "aws", "env": "prod", "nonce": new_nonce()}
    signature = sign(grants.keys[OWNER], target_payload(**signed))
    fields = {**signed, "config": {"region": "us-east-1"}, "label": "account 1"}
    ref = {"credential_ref": "styx/creds/aws/fresh", "signature": signature, "person": person}
    return SaveTarget(**{**fields, **ref, **over})


async def test_a_signed_target_is_kept_and_told(grants: World) -> None:
    seen = await grants.say(connected(grants))
    (told,) = await grants.events(TargetSaved)
    assert (seen.name, seen.env, seen.lock_state) == ("fresh", "prod", "locked")
    assert (told.actor, told.target, told.env) == (OWNER, "fresh", "prod")
    assert (await grants.ask(target="fresh")).access.status == "pending"


@pytest.mark.parametrize(
    "changed",
    [
        {"env": "staging"},
        {"name": "other"},
        {"provider": "ssh"},
        {"project_id": new_id("prj")},
        {"target_id": new_id("tgt")},
        {"nonce": new_nonce()},
        {"signature": "AAAA"},
    ],
    ids=lambda changed: next(iter(changed)),
)
async def test_what_was_not_signed_for_is_not_kept(grants: World, changed: dict[str, str]) -> None:
    await grants.refused(SignatureRefused, connected(grants, **changed))


async def test_who_is_no_approver_connects_nothing(grants: World) -> None:
    await grants.refused(Forbidden, connected(grants, person="developer"))


async def test_two_targets_of_a_project_cannot_share_a_name(grants: World) -> None:
    await grants.say(connected(grants))
    refusal = await grants.refused(Invalid, connected(grants))
    assert refusal == "name: this project has a target 'fresh' already"


async def test_the_target_of_another_project_is_not_taken_over(grants: World) -> None:
    theirs = {**target(new_id("prj"), "theirs", "prod"), "id": new_id("tgt")}
    await grants.add(repo.TARGET, **theirs)
    await grants.refused(Invalid, connected(grants, again=theirs["id"]))
    (row,) = await grants.deps.db.read(
        lambda c: c.execute(select(repo.TARGET).where(repo.TARGET.c.id == theirs["id"])).all()
    )
    assert (row.name, row.project_id) == ("theirs", theirs["project_id"])


async def test_connected_anew_a_target_keeps_its_id_and_its_login_works_again(
    grants: World,
) -> None:
    command = connected(grants)
    await grants.say(command)
    await grants.deps.db.write(lambda c: c.execute(repo.TARGET.update().values(expired=True)))
    again = {"again": command.target_id, "config": {"region": "eu-west-1"}}
    await grants.say(connected(grants, **again))
    (row,) = await grants.rows(repo.TARGET, id=command.target_id)
    assert (row.expired, row.config) == (False, {"region": "eu-west-1"})


async def test_only_what_a_person_decided_since_then_is_listed(grants: World) -> None:
    pending = (await grants.ask("delete")).access.grant_id
    await grants.policy(ALLOW)
    await grants.ask("read")
    early = grants.clock()
    await grants.decide(pending, "deny")
    listed = await grants.say(ListGrants(decided_since=early))
    assert [grant.id for grant in listed.grants] == [pending]
    later = early + MINUTE
    assert (await grants.say(ListGrants(decided_since=later))).grants == ()
