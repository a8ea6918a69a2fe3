"""What a command comes to is the same whether a call is made or only tried."""

import pytest
from broker_fixture import LIST, MODULE, REMOVE, World
from styx_core.contract.grants import Authorize
from styx_core.contract.grants_policies import SimulateCall

pytestmark = MODULE
ELSEWHERE = ("s3", "ls", "--profile", "FIXTURE")


@pytest.mark.parametrize(
    ("tool", "argv", "target"),
    [("aws", LIST, "staging"), ("aws", REMOVE, "prod"), ("aws", ELSEWHERE, "staging"),
     ("aws", ("ec2", "run-instances", "--password", "FIXTURE-hunter2"), "staging")],
)  # fmt: skip
async def test_a_call_that_is_tried_is_put_as_it_would_be(
    world: World, tool: str, argv: tuple[str, ...], target: str
) -> None:
    world.grants.effect = lambda _command: "denied"
    await world.call(*argv, tool=tool, target=target)
    (real,) = world.grants.got(Authorize)
    body = {"target": target, "command": [tool, *argv]}
    reply = await world.owner.post("/v1/projects/shop/policy/simulate", json=body)
    assert (reply.status_code, reply.json()["effect"]) == (200, "ask")
    (tried,) = world.grants.got(SimulateCall)
    for name in ("provider", "target", "scopes", "surface", "command"):
        assert getattr(tried, name) == getattr(real, name), name


async def test_what_no_grant_covers_and_unknown_tools_are_said_to_be(world: World) -> None:
    for command, status in ((("aws", "sts", "get-session-token"), 403), (("nowhere",), 404)):
        body = {"target": "staging", "command": command}
        reply = await world.owner.post("/v1/projects/shop/policy/simulate", json=body)
        assert reply.status_code == status
    assert world.grants.got(SimulateCall) == []
