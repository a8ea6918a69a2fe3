"""Projects and tasks: what a task is given once, what is kept of it, and how it ends."""

import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from broker_fixture import LINK, LIST, MODULE, OWNER, World, broker
from styx_broker.tokens import fingerprint
from styx_core.contract.broker import ProjectCreated, TaskEnded, TaskStarted
from styx_core.contract.grants import AdmitTask, RetireTask
from styx_core.errors import TimedOut, Unavailable
from styx_core.ids import new_id

pytestmark = MODULE


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def test_a_task_gets_what_its_agents_environment_needs(world: World) -> None:
    task = await world.start(agent="an-agent", name="tidy up", branch="main", worktree="/w")
    assert task["id"].startswith("tsk_")
    assert task["token"].startswith("styx_tsk_")
    assert (task["project"], task["url"]) == ("shop", LINK)
    assert task["tools"] == {"aws": "env", "gh": "env", "ssh": "ssh-agent"}
    assert {"AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "GH_TOKEN", "SSH_AUTH_SOCK"} <= {*task["strip"]}
    assert task["quiet"]["AWS_CONFIG_FILE"] == "/dev/null"
    (admitted,) = world.grants.got(AdmitTask)
    assert (admitted.task_id, admitted.project_id) == (task["id"], world.project)
    assert (admitted.agent, admitted.person, admitted.branch) == ("an-agent", OWNER, "main")
    (told,) = await world.told(TaskStarted)
    assert (told.task_id, told.project_id, told.actor) == (task["id"], world.project, OWNER)
    assert (told.name, told.branch, told.worktree) == ("tidy up", "main", "/w")


async def test_a_token_is_shown_once_and_only_its_hash_is_kept(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    task = await world.start()
    await world.told(TaskStarted)
    kept = files(world.folder)
    assert task["id"].encode() in kept
    assert fingerprint(task["token"]).encode() in kept
    assert task["token"].encode() not in kept + world.everything()
    listed = (await world.owner.get("/v1/tasks")).text
    assert task["id"] in listed
    assert task["token"] not in listed
    assert fingerprint(task["token"]) not in listed
    assert task["token"] not in "".join(capfd.readouterr())


async def test_an_ended_task_is_dead_at_once(world: World) -> None:
    task = await world.start(agent="an-agent")
    reply = await world.local.post(f"/v1/tasks/{task['id']}/end")
    assert (reply.status_code, reply.json()) == (200, {"id": task["id"], "state": "ended"})
    world.token, before = task["token"], world.token
    assert (await world.call(*LIST)).status_code == 401
    world.token = before
    assert task["id"] not in (await world.owner.get("/v1/tasks")).text
    assert [command.task_id for command in world.grants.got(RetireTask)] == [task["id"]]
    (told,) = await world.told(TaskEnded)
    assert (told.task_id, told.project_id) == (task["id"], world.project)
    assert told.why == "its agent exited"


async def test_an_unknown_task_and_an_ended_one_look_the_same(world: World) -> None:
    ended, unknown = (await world.start())["id"], new_id("tsk")
    await world.local.post(f"/v1/tasks/{ended}/end")
    for task_id in (ended, unknown):
        reply = await world.local.post(f"/v1/tasks/{task_id}/end")
        assert (reply.status_code, reply.json()["code"]) == (404, "unknown_task")
        assert reply.json()["detail"] == f"no running task {task_id!r}"
    assert len(world.grants.got(RetireTask)) == 1


@pytest.mark.parametrize("task_id", ["1", "tsk_", "%00", "tsk_" + "a" * 200, "é"])
async def test_what_is_no_tasks_id(world: World, task_id: str) -> None:
    reply = await world.local.post(f"/v1/tasks/{task_id}/end")
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid")
    assert reply.json()["detail"].startswith("task_id:")


async def test_tasks_are_listed_newest_first(world: World) -> None:
    first, second = await world.start(agent="one"), await world.start(agent="two")
    listed = (await world.owner.get("/v1/tasks")).json()
    assert [task["id"] for task in listed[:2]] == [second["id"], first["id"]]
    assert (listed[0]["agent"], listed[0]["person"], listed[0]["name"]) == ("two", OWNER, "")
    assert datetime.fromisoformat(listed[0]["started_at"]).year == 2026


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ({"project": "nowhere"}, "no project 'nowhere'"),
        ({"project": ""}, "project: String should match"),
        ({"agent": "two words"}, "agent: String should match"),
        ({"agent": "a" * 65}, "agent: String should match"),
        ({"agent": "a\nb"}, "agent: String should match"),
        ({"name": "n" * 2001}, "name: String should have at most"),
        ({"branch": 7}, "branch: Input should be a valid string"),
        ({"token": "FIXTURE"}, "token: Extra inputs are not permitted"),
        ([], "body: Input should be"),
    ],
)
async def test_a_task_that_cant_be(world: World, body: Any, what: str) -> None:
    reply = await world.local.post("/v1/tasks", json=body)
    assert reply.status_code in (404, 422)
    assert reply.json()["detail"].startswith(what)
    assert "FIXTURE" not in reply.text
    assert world.grants.heard == []


@pytest.mark.parametrize("error", [Unavailable("grants is not running"), TimedOut("too slow")])
async def test_a_task_that_grants_did_not_admit_is_none(world: World, error: Unavailable) -> None:
    world.grants.fails[AdmitTask] = error
    before = (await world.owner.get("/v1/tasks")).json()
    reply = await world.local.post("/v1/tasks", json={})
    assert (reply.status_code, reply.json()["retryable"]) == (error.status, True)
    assert (await world.owner.get("/v1/tasks")).json() == before
    assert world.events(TaskStarted) == []


async def test_a_task_ends_here_even_when_grants_is_away(world: World) -> None:
    task = await world.start()
    world.grants.fails[RetireTask] = Unavailable("grants is not running")
    reply = await world.local.post(f"/v1/tasks/{task['id']}/end")
    assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
    agent = world.client(token=task["token"])
    assert (await agent.post("/v1/exec", json={"tool": "aws", "argv": []})).status_code == 401
    assert len(await world.told(TaskEnded)) == 1, "grants will hear of it from the stream"


async def test_a_project_is_made_once(world: World) -> None:
    made = await world.local.post("/v1/projects", json={"name": "second"})
    again = await world.owner.post("/v1/projects", json={"name": "second"})
    assert (made.status_code, made.json()["name"]) == (201, "second")
    assert made.json()["id"].startswith("prj_")
    assert (again.status_code, again.json()["detail"]) == (
        422,
        "name: there is a project 'second' already",
    )
    listed = (await world.owner.get("/v1/projects")).json()
    assert [project["name"] for project in listed] == ["second", "shop"]
    (told,) = await world.told(ProjectCreated)
    assert (told.project_id, told.name, told.actor) == (made.json()["id"], "second", OWNER)


@pytest.mark.parametrize("name", ["", "two words", "-x", "a/b", "a" * 65, "né", None, 7])
async def test_a_project_that_cant_be(world: World, name: Any) -> None:
    reply = await world.owner.post("/v1/projects", json={"name": name})
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("name:")


async def test_which_project_a_task_is_in(tmp_path: Path) -> None:
    async with broker(tmp_path) as world:
        none = await world.local.post("/v1/tasks", json={})
        assert (none.status_code, none.json()["code"]) == (404, "unknown_project")
        assert "styx projects create" in none.json()["detail"]
        made = [await world.local.post("/v1/projects", json={"name": n}) for n in ("b", "a")]
        several = await world.local.post("/v1/tasks", json={})
        assert several.json()["detail"] == "project: name one of a, b"
        assert (await world.start(project="b"))["project"] == "b"
        assert (await world.start(project=made[1].json()["id"]))["project"] == "a"


async def test_the_database_holds_no_column_for_a_token(world: World) -> None:
    with sqlite3.connect(world.folder / "broker.db") as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(task)")}
        tokens = {row[0] for row in db.execute("SELECT token_sha256 FROM task")}
    assert {name for name in columns if "token" in name} == {"token_sha256"}
    assert {len(token) for token in tokens} == {64}
