"""What goes on the bus for a request: as asked, in order, and without secrets."""

from typing import Any

from styx_core.contract.grants import RequestAccess
from styx_core.digest import command_digest
from styx_core.scope import Scope

WANTED = {"target": "shop", "scopes": ["read"], "reason": "look", "wait_s": 0}


async def asked(desk: Any, **changed: Any) -> RequestAccess:
    await desk("request_access", {**WANTED, **changed})
    return next(c for c in desk.grants.asked if isinstance(c, RequestAccess))


async def test_scopes_come_once_and_in_order(desk: Any) -> None:
    sent = await asked(desk, scopes=["delete", "read", "read"])
    assert sent.scopes == (Scope.READ, Scope.DELETE)
    assert sent.duration == "1h"
    assert sent.command == ()


async def test_secrets_in_a_command_stay_here(desk: Any) -> None:
    words = ["acme", "list", "--pin", "FIXTURE-1234", "--token=FIXTURE-5678", "plain"]
    sent = await asked(desk, command=words, scopes=["read", "write"])
    assert "FIXTURE" not in sent.model_dump_json()
    assert (sent.command[0], sent.command[-1], len(sent.command)) == ("acme", "plain", 6)


async def test_a_tool_that_nobody_knows_is_redacted_all_the_same(desk: Any) -> None:
    sent = await asked(desk, command=["other", "--password", "FIXTURE-1234"])
    assert sent.command == ("other", "--password", "[REDACTED]")


async def test_secrets_in_a_reason_stay_here(desk: Any) -> None:
    sent = await asked(desk, reason="deploy with password=FIXTURE-hunter2hunter2")
    assert "FIXTURE" not in sent.reason
    assert sent.reason.startswith("deploy with ")


async def test_a_command_goes_with_what_it_would_do_and_its_digest(desk: Any) -> None:
    sent = await asked(desk, command=["acme", "list", "things"], duration="once")
    assert sent.exact
    assert sent.understood.startswith("`acme list`")
    assert sent.command_digest == command_digest("", ["acme", "list", "things"])


async def test_the_answer_says_what_was_understood(desk: Any) -> None:
    wider = {**WANTED, "scopes": ["read", "write"], "command": ["acme", "list", "things"]}
    told = (await desk("request_access", wider)).fields["understood"]
    assert (told["scopes"], told["why"][:11]) == (["read"], "`acme list`")
    silent = await desk("request_access", {**WANTED, "command": ["other", "things"]})
    assert "understood" not in silent.fields


async def test_scopes_short_of_the_command_are_refused_by_what_it_needs(desk: Any) -> None:
    answer = await desk("request_access", {**WANTED, "command": ["acme", "frobnicate"]})
    assert "write" in str(answer)
    assert desk.grants.asked == []
