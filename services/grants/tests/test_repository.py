"""Which target a call is for, which grant covers it, and what nobody of another project can see."""

from typing import Any

import pytest
from grants_fixture import MINUTE, World, opened, target, task
from styx_core.contract.grants import RevokeGrant
from styx_core.errors import AmbiguousTarget, UnknownTarget
from styx_core.ids import new_id
from styx_grants import repository as repo

grants = pytest.fixture(opened)


@pytest.fixture
async def hosts(grants: World) -> World:
    """Two SSH hosts beside the AWS targets, and another project's target."""
    for name, host in (("web", "10.0.0.1"), ("db", "db.internal")):
        await grants.add(repo.TARGET, **target(grants.project, name, "staging", "ssh", host=host))
    await grants.add(repo.TARGET, **target(new_id("prj"), "theirs", "staging", "gh"))
    return grants


def ssh(grants: World, **over: Any) -> Any:
    """A call of `ssh`, which names no target of its own."""
    call = {"provider": "ssh", "target": None, "command": ("ssh", "host", "ls"), "surface": None}
    return grants.call("write", **{**call, **over})


@pytest.mark.parametrize(
    ("over", "found"),
    [
        ({"target": "web"}, "web"),
        ({"host": "web"}, "web"),
        ({"host": "db.internal"}, "db"),
        ({"target": "db", "host": "10.0.0.1"}, "db"),
    ],
    ids=["by name", "by its name as host", "by host", "the name outranks the host"],
)
async def test_a_call_is_for_the_target_that_it_names(
    hosts: World, over: dict[str, str], found: str
) -> None:
    assert (await hosts.say(ssh(hosts, **over))).access.target == found


async def test_a_target_may_be_named_by_its_id(hosts: World) -> None:
    (web,) = await hosts.rows(repo.TARGET, name="web")
    assert (await hosts.say(ssh(hosts, target=web.id))).access.target == "web"


@pytest.mark.parametrize(
    ("over", "why"),
    [
        ({"target": "nowhere"}, "no target 'nowhere' in this project; list_targets shows them"),
        ({"target": "theirs"}, "no target 'theirs' in this project; list_targets shows them"),
        ({"target": "staging"}, "target staging is not reached by this tool"),
        ({"host": "10.9.9.9"}, "this project has no ssh target for host '10.9.9.9'"),
        ({"host": ""}, "this project has no ssh target"),
        ({"provider": "gh"}, "this project has no gh target"),
    ],
    ids=["unknown", "another project's", "another tool's", "host", "no host", "none"],
)
async def test_a_target_that_is_not_there_is_refused_by_name(
    hosts: World, over: dict[str, str], why: str
) -> None:
    assert why in await hosts.refused(UnknownTarget, ssh(hosts, **over))


async def test_another_project_s_target_is_unknown_by_its_id_too(hosts: World) -> None:
    (theirs,) = await hosts.rows(repo.TARGET, name="theirs")
    refusal = await hosts.refused(UnknownTarget, ssh(hosts, target=theirs.id))
    assert refusal == f"no target {theirs.id!r} in this project; list_targets shows them"


async def test_the_only_one_of_its_provider_needs_no_name(grants: World) -> None:
    await grants.add(repo.TARGET, **target(grants.project, "web", "staging", "ssh"))
    assert (await grants.say(ssh(grants))).access.target == "web"


async def test_of_several_none_is_guessed(hosts: World) -> None:
    refusal = await hosts.refused(AmbiguousTarget, ssh(hosts))
    assert refusal == "several targets fit: db, web; set STYX_TARGET to the one you mean"


async def test_the_only_one_with_a_live_grant_is_meant(hosts: World) -> None:
    grant_id = await hosts.given("write", target="db", duration="15m")
    assert (await hosts.say(ssh(hosts))).access.grant_id == grant_id
    other = await hosts.given("write", target="web")
    await hosts.refused(AmbiguousTarget, ssh(hosts))
    await hosts.say(RevokeGrant(grant_id=other, person="owner"))
    assert (await hosts.say(ssh(hosts))).access.grant_id == grant_id
    hosts.clock.on(15 * MINUTE)
    await hosts.refused(AmbiguousTarget, ssh(hosts))


async def test_another_task_s_grant_tells_nothing_about_which_is_meant(hosts: World) -> None:
    await hosts.given("write", target="db")
    other = await hosts.add(repo.TASK, **task(hosts.project))
    await hosts.refused(AmbiguousTarget, ssh(hosts, task_id=other))


async def test_the_queue_counts_a_project_s_own_waiting_requests(grants: World) -> None:
    elsewhere = new_id("prj")
    await grants.add(repo.TARGET, **target(elsewhere, "theirs", "prod"))
    stranger = await grants.add(repo.TASK, **task(elsewhere))
    first = await grants.ask("write")
    grants.clock.on(MINUTE)
    second = await grants.ask("delete")
    other = await grants.ask("read", task_id=stranger, target="theirs")
    places = [answer.access.queue_position for answer in (first, second, other)]
    assert places == [1, 2, 1]
    await grants.decide(first.access.grant_id, "deny")
    assert (await grants.ask("delete")).access.queue_position == 1
