"""What of a call goes on to `grants`, and whose sealed credential is opened for it."""

import asyncio

import pytest
from broker_adapters import SECRET
from broker_fixture import LIST, MODULE, REMOVE, World
from styx_broker.authorizing import ExecCall
from styx_broker.exec_wire import ExecRequest
from styx_broker.understanding import CHANGES
from styx_core.contract.broker import CallRefused
from styx_core.contract.grants import Authorize, Authorized
from styx_core.digest import command_digest
from styx_core.errors import Internal

pytestmark = MODULE
PLANTED = (
    "AKIA" + "FIXTUREFIXTURE23",
    "FIXTURE-hunter2",
    "FIXTURE-in-a-url",
    "ghp_" + "FIXTURE" * 5 + "1",
)


def secret_call() -> tuple[str, ...]:
    """A command with a secret in each way that one gets there."""
    key, password, url, token = PLANTED
    return (
        *("s3", "ls", "--profile", key, "--password", password),
        *(f"https://user:{url}@host/", f"GITHUB_TOKEN={token}"),
    )


async def test_only_the_redacted_command_goes_on(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    world.grants.effect = lambda _command: "active"
    assert (await world.call(*secret_call())).status_code == 200
    assert (await world.shim("aws", "/", "", *secret_call()))[1][-1] == "verdict=run"
    asked = world.grants.got(Authorize)[0]
    assert asked.command[:4] == ("aws", "s3", "ls", "--profile")
    assert len(asked.command) == 1 + len(secret_call()), "as many words as were typed"
    assert (asked.exact, "[REDACTED]" in asked.command) == (False, True)
    kept, logged = world.everything(), "".join(capfd.readouterr())
    for secret in PLANTED:
        assert secret.encode() not in kept
        assert secret not in logged


async def test_a_refused_call_leaves_no_secret_either(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    refused = await world.call(*secret_call(), target="nowhere")
    minted = await world.call("sts", "get-session-token", *secret_call()[2:])
    unread = await world.call(*secret_call(), "a\0b")
    assert [r.status_code for r in (refused, minted, unread)] == [404, 403, 422]
    await world.told(CallRefused, 3)
    said = world.everything() + "".join(r.text for r in (refused, minted, unread)).encode()
    said += "".join(capfd.readouterr()).encode()
    assert [secret for secret in PLANTED if secret.encode() in said] == []


async def test_an_issued_secret_is_nowhere_but_in_the_answer(
    world: World, capfd: pytest.CaptureFixture[str]
) -> None:
    assert SECRET in (await world.call(*LIST)).text
    kept = world.everything()
    assert world.token.encode() not in kept
    assert SECRET.encode() not in kept
    assert SECRET not in "".join(capfd.readouterr())


async def test_the_digest_tells_one_tasks_commands_apart_and_no_more(world: World) -> None:
    other = (await world.start())["token"]
    await world.call(*LIST)
    await world.call(*LIST, "s3://b")
    await world.client(token=other).post("/v1/exec", json={"tool": "aws", "argv": LIST})
    digests = [asked.command_digest for asked in world.grants.got(Authorize)]
    assert digests[0] == command_digest(world.token, ("aws", *LIST))
    assert len(set(digests)) == 3, "another command, or the same with another token"


async def test_each_call_has_its_own_key_and_id(world: World) -> None:
    await world.call(*LIST)
    await world.call(*LIST)
    first, second = world.grants.got(Authorize)
    assert first.edge_key != second.edge_key
    assert first.exec_id != second.exec_id


@pytest.mark.parametrize(
    ("name", "argv", "scopes", "why"),
    [
        ("aws", LIST, {"read"}, "only reads"),
        ("aws", REMOVE, {"delete"}, "deletes"),
        ("aws", ("--unknown", "s3", "ls"), CHANGES, "can't be read"),
        ("aws", (*LIST, "--profile", "another"), {"read", *CHANGES}, "another login"),
        ("aws", (*LIST, "--endpoint-url=http://x"), {"read", *CHANGES}, "another place"),
        ("gh", ("api", "user", "--hostname", "x"), {"read", *CHANGES}, "another place"),
        ("ssh", ("-F", "none", "web", "uptime"), {"write"}, "taken to change"),
    ],
)
async def test_what_a_call_needs_is_worked_out_here(
    world: World, name: str, argv: tuple[str, ...], scopes: set[str], why: str
) -> None:
    world.grants.effect = lambda _command: "denied"
    await world.call(*argv, tool=name, target=None)
    (asked,) = world.grants.got(Authorize)
    assert set(asked.scopes) == scopes
    assert why in asked.understood


async def test_a_box_for_another_call_is_thrown_away(world: World) -> None:
    world.adapters.meant_for = "exe_00000000000000000000000000"
    reply = await world.call(*LIST)
    assert (reply.status_code, reply.json()["code"]) == (500, "internal")
    assert "not for this call; it was thrown away" in reply.json()["detail"]
    status, fields = await world.shim("aws", "/", "", *LIST)
    assert (status, fields[-2:]) == (500, ["exit=69", "verdict=refuse"])
    assert SECRET not in reply.text + "".join(fields)
    assert len(await world.told(CallRefused, 2)) == 2


async def test_a_box_for_another_call_ends_a_held_one_too(world: World) -> None:
    world.adapters.meant_for = "exe_00000000000000000000000000"
    held = asyncio.create_task(world.shim("aws", "/", "", *REMOVE))
    await world.grants.settle(await world.pending(), "active")
    _, fields = await held
    assert fields[-2:] == ["exit=69", "verdict=refuse"]
    assert fields[-3].endswith("it was thrown away")
    assert not [each for each in fields if each.startswith(("set=", "cert="))]
    assert (await world.told(CallRefused))[0].code == "internal"


async def test_an_active_answer_without_a_credential_is_our_fault(world: World) -> None:
    await world.call(*LIST)
    (kept,) = world.grants.rows.kept.values()

    class Task:
        id = world.task

    call = ExecCall(world.deps, Task(), world.token, ExecRequest(tool="aws", argv=LIST))  # type: ignore[arg-type]
    with pytest.raises(Internal, match="without its credential"):
        call.open(Authorized(access=kept.access()))
