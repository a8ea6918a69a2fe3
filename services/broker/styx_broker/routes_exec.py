"""`POST /v1/exec` and its report: the shim's two calls."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Request
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response, StreamingResponse
from styx_core import telemetry
from styx_core.contract.broker import CallRefused
from styx_core.contract.grants import Access, Authorized, ReportUse
from styx_core.contract.values import Id
from styx_core.errors import Invalid, StyxError
from styx_core.ids import new_id

from styx_broker.auth import Agent, TheAgent, TheDeps
from styx_broker.authorizing import ExecCall, Opened
from styx_broker.deps import Deps
from styx_broker.exec_wire import (
    MOST_BYTES,
    SHIM_TYPE,
    ExecRequest,
    field,
    parse_json,
    parse_shim,
    refuse_fields,
    run_fields,
)
from styx_broker.problems import EXIT

router = APIRouter(tags=["calls"])

JSON_TYPE = "application/json"
UNAVAILABLE, UNDECIDED, DENIED = 69, 75, 77
ENDED = re.compile(rb'\s*(?:exit=|\{\s*"exit"\s*:\s*)(-?\d{1,3})\s*\}?\s*')
"""A report of how a command ended."""
BEAT_SECONDS = 20.0


@router.post("/v1/exec", openapi_extra={"requestBody": {"content": {
    "application/json": {"schema": ExecRequest.model_json_schema()},
    SHIM_TYPE: {"schema": {"type": "string", "format": "binary"}},
}}})  # fmt: skip
async def execute(request: Request, deps: TheDeps, agent: TheAgent) -> Response:
    """Authorize one call. Held while a person decides; `verdict` or `status` says the outcome."""
    deps.limits.take(agent.task.id, "exec", "too many calls")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    shim = kind == SHIM_TYPE
    with telemetry.span("POST /v1/exec", request.headers.get("traceparent", "")):
        try:
            call = ExecCall(deps, agent.task, agent.token, await _read(request, kind))
            answer = await call.ask()
            if answer.access.status == "pending":
                if shim:
                    held = _held_fields(deps, agent, call, answer.access)
                    return StreamingResponse(held, media_type=SHIM_TYPE)
                answer = await _decided(call, answer)
            return _verdict(call, answer, shim)
        except StyxError as error:
            await _record_refusal(deps, agent, error)
            raise


async def _read(request: Request, kind: str) -> ExecRequest:
    if kind not in (SHIM_TYPE, JSON_TYPE):
        raise Invalid(f"content type: say {JSON_TYPE} or {SHIM_TYPE}")
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MOST_BYTES:
                raise Invalid(f"body: Styx reads at most {MOST_BYTES} bytes")
    except ClientDisconnect:
        raise Invalid("body: it was cut off") from None
    if kind == SHIM_TYPE:
        return parse_shim(bytes(body), request.headers.get("styx-target") or None)
    return parse_json(bytes(body))


def _verdict(call: ExecCall, answer: Authorized, shim: bool) -> Response:
    access = answer.access
    if access.status == "active":
        opened = call.open(answer)
        return Response(b"".join(_run(opened)), media_type=SHIM_TYPE) if shim else _json(opened)
    if shim:
        return Response(b"".join(_stopped(access)), media_type=SHIM_TYPE)
    shown = access.model_dump(mode="json")
    return JSONResponse(shown, status_code=202 if access.status == "pending" else 200)


def _run(opened: Opened) -> Any:
    return run_fields(opened.exec_id, opened.env, opened.unset, opened.certificate, opened.identity)


def _json(opened: Opened) -> JSONResponse:
    shown = {k: v for k, v in vars(opened).items() if k != "unset"}
    return JSONResponse({"status": "active", **shown, "unset": list(opened.unset)})


def _stopped(access: Access) -> Any:
    if access.status == "denied":
        return refuse_fields(DENIED, f"denied: {access.why}")
    if access.status == "pending":
        return refuse_fields(
            UNDECIDED,
            f"nobody has decided yet; request {access.grant_id} stays open. Run this again later",
        )
    return refuse_fields(DENIED, f"request {access.grant_id} has ended: {access.why}")


async def _held_fields(
    deps: Deps, agent: Agent, call: ExecCall, access: Access
) -> AsyncIterator[bytes]:
    """The stream of a held call: who is waited for at once, beats, then the verdict."""
    link = f"{deps.settings.public_url}/grants/{access.grant_id}"
    what = f"{', '.join(access.scopes)} on {access.target}"
    yield field("say", f"{what} waits for a person ({access.why})")
    yield field("say", f"approve it at {link} or with: styx approve {access.grant_id}")
    deciding = asyncio.ensure_future(_decided(call, Authorized(access=access)))
    try:
        while not (await asyncio.wait({deciding}, timeout=BEAT_SECONDS))[0]:
            yield field("beat", "")
        answer = deciding.result()
        active = answer.access.status == "active"
        fields = _run(call.open(answer)) if active else _stopped(answer.access)
    except StyxError as error:
        await _record_refusal(deps, agent, error)
        code = UNDECIDED if error.retryable else EXIT.get(error.status, UNAVAILABLE)
        fields = refuse_fields(code, error.detail)
    finally:
        deciding.cancel()
    for one in fields:
        yield one


async def _decided(call: ExecCall, answer: Authorized) -> Authorized:
    """Wait for the decision; where it is yes, ask again for what it now covers."""
    access = answer.access
    async for latest in call.wait(access.grant_id):
        access = latest
    if access.status == "active":
        return await call.ask()
    return Authorized(access=access)


async def _record_refusal(deps: Deps, agent: Agent, error: StyxError) -> None:
    """A call that ended here is on the record too."""
    now, task = deps.now(), agent.task
    event = CallRefused(
        id=new_id("evt"),
        at=now,
        actor=task.id,
        project_id=task.project_id,
        task_id=task.id,
        code=error.code,
        why=deps.catalog.redact(error.detail),
    )
    await deps.db.write(lambda c: deps.outbox.record(c, event))


@router.post("/v1/exec/{exec_id}/report", status_code=204)
async def report(exec_id: Id, request: Request, deps: TheDeps, agent: TheAgent) -> Response:
    """Say how a wrapped command ended: `exit=<code>` from a shim, or JSON `{"exit": code}`."""
    said = ENDED.fullmatch((await request.body())[:64])
    if said is None:
        raise Invalid("body: say `exit=<code>` with a whole number from -999 to 999")
    code = ReportUse(task_id=agent.task.id, exec_id=exec_id, exit_code=int(said[1]))
    await deps.bus.request(code)
    return Response(status_code=204)
