"""The edge of the bus: what a caller is told when a command is wrong, late, or falls over."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY
from pydantic import BaseModel
from styx_core import dispatch
from styx_core.contract import adapters, broker, grants  # noqa: F401 (they declare the commands)
from styx_core.contract.base import COMMANDS, Command, Done, Fault, Message
from styx_core.contract.broker import IdentifyTask, TaskIdentity
from styx_core.contract.grants import ReportUse, RetireTask
from styx_core.dispatch import handlers_of
from styx_core.errors import BY_CODE, StyxError
from styx_core.ids import new_id

WHO = TaskIdentity(task_id="tsk", project_id="prj", agent="a", person="p")
GOOD = {"token_sha256": "0" * 64}
PLANTED = "FIXTURE-planted"


async def known(_command: Any) -> Message:
    """A handler that knows everybody."""
    return WHO


async def answer(body: object, handler: dispatch.Handler = known, seconds: float = 10.0) -> Message:
    """What a caller of `identify_task` gets for this body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await dispatch.answer(IdentifyTask, handler, raw, "", seconds)


async def fault(body: object, **how: Any) -> Fault:
    """The fault that it gets."""
    found = await answer(body, **how)
    assert isinstance(found, Fault)
    return found


async def test_a_good_command_gets_its_handlers_reply() -> None:
    assert await answer(GOOD) == WHO


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({**GOOD, "colour": PLANTED}, "colour: Extra inputs are not permitted"),
        ({}, "token_sha256: Field required"),
        ({"token_sha256": 7}, "token_sha256: Input should be a valid string"),
        ({"token_sha256": [PLANTED]}, "token_sha256: Input should be a valid string"),
        ([PLANTED], "body: Input should be an object"),
        (f'{{"token_sha256": "{PLANTED}'.encode(), "body: Invalid JSON"),
        (f'{{"token_sha256": {PLANTED}}}'.encode(), "body: Invalid JSON"),
        (b"\xff\xfe" + PLANTED.encode(), "body: Invalid JSON"),
        (b"", "body: Invalid JSON"),
    ],
)
async def test_a_wrong_command_is_refused_by_its_field(body: object, named: str) -> None:
    found = await fault(body)
    assert (found.code, found.retryable) == ("invalid", False)
    assert found.detail.startswith(f"identify_task: {named}")
    assert "FIXTURE" not in found.detail


async def test_every_wrong_field_is_named() -> None:
    found = await fault({"token_sha256": None, "colour": 1})
    assert "token_sha256: " in found.detail
    assert "; colour: " in found.detail


@pytest.mark.parametrize("kind", COMMANDS.values(), ids=lambda kind: kind.subject)
@pytest.mark.parametrize(
    "planted", [[{PLANTED: 1}], {"a": [PLANTED]}, PLANTED * 99], ids=["list", "object", "text"]
)
async def test_no_command_repeats_a_value_that_it_refuses(
    kind: type[Command[Any]], planted: object
) -> None:
    body = json.dumps({"no_such_field": planted} | dict.fromkeys(kind.model_fields, planted))
    found = await dispatch.answer(kind, known, body.encode(), "", 10)
    assert isinstance(found, Fault)
    assert found.code == "invalid"
    assert "no_such_field: " in found.detail
    assert all(f"{name}" in found.detail for name in kind.model_fields) or planted == PLANTED * 99
    assert "FIXTURE" not in found.detail


@pytest.mark.parametrize("error", BY_CODE.values(), ids=lambda error: error.code)
async def test_our_own_errors_cross_as_themselves(error: type[StyxError]) -> None:
    async def refusing(_command: Any) -> Message:
        raise error("what happened, and what to do")

    found = await fault(GOOD, handler=refusing)
    detail = "what happened, and what to do"
    assert found == Fault(code=error.code, detail=detail, retryable=error.retryable)


class Inner(BaseModel):
    """Something that a handler reads of its own."""

    number: int


@pytest.mark.parametrize(
    "crash",
    [
        lambda: dict[str, str]()[PLANTED],
        lambda: int(PLANTED),
        lambda: Inner(number=PLANTED),
    ],
    ids=["key", "value", "validation"],
)
async def test_a_handlers_fault_is_ours_and_its_text_stays_here(crash: Any) -> None:
    async def falling(_command: Any) -> Message:
        crash()
        raise AssertionError

    found = await fault(GOOD, handler=falling)
    detail = "broker failed at identify_task; its log says why"
    assert found == Fault(code="internal", detail=detail, retryable=False)


async def test_a_deadline_ends_a_handler() -> None:
    ended = asyncio.Event()

    async def slow(_command: Any) -> Message:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return WHO

    found = await fault(GOOD, handler=slow, seconds=0.01)
    assert (found.code, found.retryable) == ("timed_out", True)
    assert found.detail == "identify_task ran out of its deadline"
    assert ended.is_set(), "nothing goes on after its caller was told that it failed"


@pytest.mark.parametrize("seconds", [0.0, -1.0])
async def test_what_comes_late_is_not_done(seconds: float) -> None:
    ran: list[object] = []

    async def run(command: Any) -> Message:
        ran.append(command)
        return WHO

    found = await fault(GOOD, handler=run, seconds=seconds)
    assert (found.code, found.retryable, ran) == ("timed_out", True, [])
    assert "was not done" in found.detail


async def test_a_caller_that_leaves_is_no_fault() -> None:
    began = asyncio.Event()

    async def slow(_command: Any) -> Message:
        began.set()
        await asyncio.Event().wait()
        return WHO

    task = asyncio.create_task(answer(GOOD, handler=slow))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_each_outcome_is_counted() -> None:
    def count(outcome: str) -> float:
        labels = {"service": "broker", "command": "identify_task", "outcome": outcome}
        return REGISTRY.get_sample_value("styx_commands_total", labels) or 0.0

    before = [count(outcome) for outcome in ("ok", "invalid", "timed_out")]
    await answer(GOOD)
    await fault({})
    await fault(GOOD, seconds=0)
    assert [count(o) for o in ("ok", "invalid", "timed_out")] == [n + 1 for n in before]


async def test_a_service_answers_every_command_of_its_own() -> None:
    async def identify_task(command: IdentifyTask, deps: str) -> Message:
        return WHO.model_copy(update={"agent": deps + command.token_sha256[0]})

    async def done(_command: object, _deps: str) -> Message:
        return Done()

    of_broker = [subject.split(".")[-1] for subject in COMMANDS if ".broker." in subject]
    first, second = (
        SimpleNamespace(**{**dict.fromkeys(of_broker, done), "identify_task": identify_task}),
        SimpleNamespace(identify_person=done),
    )
    del first.identify_person
    found = handlers_of("broker", "deps", first, second)
    assert {kind.owner for kind in found} == {"broker"}
    assert RetireTask not in found
    told = await answer(GOOD, handler=found[IdentifyTask])
    assert isinstance(told, TaskIdentity)
    assert told.agent == "deps0"
    with pytest.raises(LookupError, match="broker has no handler identify_person"):
        handlers_of("broker", "deps", first)


async def test_nothing_is_coerced() -> None:
    known_id = new_id("exe")
    good = {"task_id": new_id("tsk"), "exec_id": known_id, "exit_code": 5}

    async def done(_command: Any) -> Message:
        return Done()

    for wrong in ("5", 5.5, True, None):
        body = json.dumps({**good, "exit_code": wrong}).encode()
        found = await dispatch.answer(ReportUse, done, body, "", 10.0)
        assert isinstance(found, Fault)
        assert found.detail.startswith("report_use: exit_code: ")
    assert await dispatch.answer(ReportUse, done, json.dumps(good).encode(), "", 10.0) == Done()
