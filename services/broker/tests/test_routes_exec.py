"""One call over HTTP: let through, held for a person, decided, denied, and reported."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from broker_adapters import SECRET
from broker_fixture import LINK, LIST, MODULE, REMOVE, World, bearing, broker, until
from styx_broker.exec_wire import SHIM_TYPE
from styx_core.contract.broker import CallRefused
from styx_core.contract.grants import Authorize, CheckGrant, ReportUse
from styx_core.errors import GrantOver, Unavailable
from styx_core.ids import new_id

pytestmark = MODULE
SHIM = ("aws", "/", "")


async def test_a_read_gets_its_environment_as_json(world: World) -> None:
    reply = await world.call(*LIST)
    found = reply.json()
    assert (reply.status_code, found["status"]) == (200, "active")
    assert found["env"]["AWS_SESSION_TOKEN"] == SECRET
    assert found["env"]["AWS_CONFIG_FILE"] == "/dev/null"
    assert "AWS_PROFILE" in found["unset"]
    assert (found["scoped"], found["revocable"], found["certificate"]) == (True, "hard", None)
    (asked,) = world.grants.got(Authorize)
    assert (asked.exec_id, asked.task_id) == (found["exec_id"], world.task)
    assert (asked.scopes, asked.surface, asked.target) == (("read",), "s3", "staging")
    assert asked.command == ("aws", *LIST)


async def test_the_shim_gets_the_same_as_fields_with_the_verdict_last(world: World) -> None:
    status, fields = await world.shim(*SHIM, *LIST)
    assert (status, fields[-1]) == (200, "verdict=run")
    assert fields[0].startswith("exec=exe_")
    assert f"set=AWS_SESSION_TOKEN={SECRET}" in fields
    unset, set_ = (
        [place for place, each in enumerate(fields) if each.startswith(name)]
        for name in ("unset=", "set=")
    )
    assert max(unset) < min(set_), "what is set is not taken away again"


async def test_ssh_gets_a_certificate_for_its_own_key(world: World) -> None:
    key, world.grants.effect = "ssh-ed25519 FIXTURE", lambda _command: "active"
    _, fields = await world.shim("ssh", "/", key, "web", "uptime", **{"Styx-Target": ""})
    assert "cert=ssh-ed25519-cert-v01@openssh.com FIXTURE" in fields
    (asked,) = world.grants.got(Authorize)
    assert (asked.public_key, asked.host, asked.target) == (key, "web", None)


async def test_a_held_call_says_who_is_waited_for_then_runs(world: World) -> None:
    held = asyncio.create_task(world.shim(*SHIM, *REMOVE))
    kept = await world.pending()
    await world.grants.settle(kept, "active")
    status, fields = await held
    assert status == 200
    assert fields[0] == "say=delete on staging waits for a person (a rule says so)"
    assert fields[1] == f"say=approve it at {LINK}/grants/{kept.id} or with: styx approve {kept.id}"
    assert fields[-1] == "verdict=run"
    assert f"set=AWS_SESSION_TOKEN={SECRET}" in fields
    first, second = world.grants.got(Authorize)
    assert first == second, "the same call, not another, is what was approved"


async def test_a_held_call_as_json(world: World) -> None:
    held = asyncio.create_task(world.call(*REMOVE))
    await world.grants.settle(await world.pending(), "active")
    reply = await held
    assert (reply.status_code, reply.json()["status"]) == (200, "active")


async def test_a_call_that_is_denied_meanwhile(world: World) -> None:
    held = asyncio.create_task(world.shim(*SHIM, *REMOVE))
    as_json = asyncio.create_task(world.call(*REMOVE, "--quiet"))
    await until(lambda: len(world.deps.waiting._held) == 2)
    for kept in world.grants.rows.kept.values():
        kept.why = "not on a Friday"
        await world.grants.settle(kept, "denied")
    assert (await held)[1][2:] == ["say=denied: not on a Friday", "exit=77", "verdict=refuse"]
    reply = await as_json
    assert (reply.status_code, reply.json()["status"]) == (200, "denied")
    assert reply.json()["why"] == "not on a Friday"
    assert "env" not in reply.json()


async def test_a_call_that_is_denied_at_once(world: World) -> None:
    world.grants.effect = lambda _command: "denied"
    said = ["say=denied: a rule says so", "exit=77", "verdict=refuse"]
    assert await world.shim(*SHIM, *LIST) == (200, said)
    assert (await world.call(*LIST)).json()["status"] == "denied"


async def test_a_request_that_ended_otherwise(world: World) -> None:
    held = asyncio.create_task(world.shim(*SHIM, *REMOVE))
    kept = await world.pending()
    await world.grants.settle(kept, "cancelled")
    assert (await held)[1][2:] == [
        f"say=request {kept.id} has ended: a rule says so",
        "exit=77",
        "verdict=refuse",
    ]


@asynccontextmanager
async def impatient(folder: Path, seconds: float) -> AsyncIterator[World]:
    """A broker of its own, that holds a caller this long."""
    async with broker(folder, wait_seconds=seconds) as world:
        await world.claim()
        await world.owner.post("/v1/projects", json={"name": "shop"})
        world.token = (await world.start())["token"]
        yield world


async def test_nobody_decides_in_time_and_the_request_stays_open(tmp_path: Path) -> None:
    async with impatient(tmp_path, 0.0) as world:
        reply = await world.call(*REMOVE)
        assert (reply.status_code, reply.json()["status"]) == (202, "pending")
        _, fields = await world.shim(*SHIM, *REMOVE, "--quiet")
        assert fields[-2:] == ["exit=75", "verdict=refuse"]
        assert "stays open. Run this again later" in fields[-3]
        assert {kept.state for kept in world.grants.rows.kept.values()} == {"pending"}


async def test_a_broker_that_stops_lets_its_callers_go(tmp_path: Path) -> None:
    async with impatient(tmp_path, 60.0) as world:
        held = asyncio.create_task(world.shim(*SHIM, *REMOVE))
        kept = await world.pending()
        world.running.drain()
        assert (await held)[1][-2:] == ["exit=75", "verdict=refuse"]
        assert kept.state == "pending"


@pytest.mark.parametrize(
    ("error", "code"), [(Unavailable("the database is away"), 75), (GrantOver("it is over"), 77)]
)
async def test_a_wait_that_fails_says_why_and_is_recorded(
    world: World, error: Unavailable | GrantOver, code: int
) -> None:
    held = asyncio.create_task(world.shim(*SHIM, *REMOVE))
    kept = await world.pending()
    await until(lambda: world.grants.got(CheckGrant))
    world.grants.fails[CheckGrant] = error
    await world.grants.settle(kept, "active")
    _, fields = await held
    assert fields[-3:] == [f"say={error.detail}", f"exit={code}", "verdict=refuse"]
    (told,) = await world.told(CallRefused)
    assert (told.code, told.why, told.task_id) == (error.code, error.detail, world.task)


class Caller:
    """A caller on the wire itself: what it was sent so far, and whether it hung up."""

    def __init__(self, world: World) -> None:
        self.sent, self.hangs_up = b"", asyncio.Event()
        body = b"\0".join(word.encode() for word in (*SHIM, *REMOVE))
        self._body: bytes | None = body
        kind, token = {"Content-Type": SHIM_TYPE}, bearing(world.token)
        shown = httpx.Headers({**kind, **token, "Styx-Target": "staging"})
        headers = [(name.lower(), value) for name, value in shown.raw]
        scope: dict[str, Any] = {"asgi": {"version": "3.0"}, "type": "http"}
        scope |= {"method": "POST", "path": "/v1/exec", "headers": headers}
        scope |= {"http_version": "1.1", "scheme": "http", "query_string": b"", "raw_path": b""}
        app: Any = world.running.app
        self.call = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self.hangs_up.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.sent += message.get("body", b"")


async def test_a_held_caller_hears_at_once_that_it_waits(world: World) -> None:
    caller = Caller(world)
    kept = await world.pending()
    await until(lambda: caller.sent.count(b"\0") == 2)
    assert kept.id.encode() in caller.sent
    assert b"verdict" not in caller.sent
    await world.grants.settle(kept, "denied")
    await caller.call
    assert caller.sent.endswith(b"verdict=refuse\0")


async def test_a_caller_that_hangs_up_leaves_its_request_open(world: World) -> None:
    caller = Caller(world)
    kept = await world.pending()
    await until(lambda: caller.sent)
    caller.hangs_up.set()
    await caller.call
    await until(lambda: not world.deps.waiting._held)
    assert kept.state == "pending"
    assert b"verdict" not in caller.sent


async def test_a_report_of_the_exit_code(world: World) -> None:
    agent = world.client(token=world.token)
    for body, code in ((b"exit=0", 0), (b'{"exit": 130}', 130), (b"exit=-9\n", -9)):
        exec_id = (await world.call(*LIST)).json()["exec_id"]
        reply = await agent.post(f"/v1/exec/{exec_id}/report", content=body)
        assert (reply.status_code, reply.content) == (204, b"")
        told = ReportUse(task_id=world.task, exec_id=exec_id, exit_code=code)
        assert world.grants.got(ReportUse)[-1] == told
    again = await agent.post(f"/v1/exec/{exec_id}/report", content=b"exit=0")
    assert (again.status_code, again.json()["code"]) == (404, "unknown_grant")


async def test_a_report_of_an_unknown_call_or_of_another_tasks_looks_the_same(
    world: World,
) -> None:
    theirs = (await world.call(*LIST)).json()["exec_id"]
    other = world.client(token=(await world.start())["token"])
    replies = [
        await other.post(f"/v1/exec/{exec_id}/report", content=b"exit=0")
        for exec_id in (theirs, new_id("exe"))
    ]
    assert replies[0].status_code == 404
    assert replies[0].content == replies[1].content


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"exit=", b"exit=x", "exit=²".encode(), "exit=٣".encode(), b"exit=--5", b"1"),
        *(b"exit=" + b"9" * 40, b'{"exit": null}', b"\xff\xfe", b"exit=1 and more", b"exit=1.5"),
    ],
)
async def test_a_report_without_a_code_is_refused(world: World, body: bytes) -> None:
    reply = await world.client(token=world.token).post(
        f"/v1/exec/{new_id('exe')}/report", content=body
    )
    assert (reply.status_code, reply.json()["code"]) == (422, "invalid")
    assert reply.json()["detail"].startswith("body: say `exit=<code>`")
    assert world.grants.got(ReportUse) == []


@pytest.mark.parametrize("exec_id", ["exe_" + "!" * 26, "exe_1", "grt", "exe_" + "a" * 27, "%00"])
async def test_a_report_under_no_id_of_ours_is_refused(world: World, exec_id: str) -> None:
    agent = world.client(token=world.token)
    reply = await agent.post(f"/v1/exec/{exec_id}/report", content=b"exit=0")
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("exec_id:")
    assert world.grants.got(ReportUse) == []
