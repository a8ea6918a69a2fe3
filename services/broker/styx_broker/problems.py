"""Errors over HTTP: problem details (RFC 9457), or the shim's fields where a shim asks."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from styx_core.contract.base import COMMANDS
from styx_core.errors import Internal, Invalid, StyxError, Unauthenticated

from styx_broker.exec_wire import SHIM_TYPE, refuse_fields
from styx_broker.oauth import Refused
from styx_broker.rendering import page

EXIT = {401: 78, 403: 77, 404: 64, 409: 77, 422: 64, 413: 64}
"""Exit codes of the shim for our statuses; any other is 69, unavailable (sysexits.h)."""


def answer(request: Request, error: StyxError) -> Response:
    """The response for one of our errors."""
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
    if error.retryable:
        headers["Retry-After"] = "1"
    return _problem(request, error.status, error.code, error.detail, error.retryable, headers)


def _problem(
    request: Request,
    status: int,
    code: str,
    detail: str,
    retryable: bool = False,
    headers: Mapping[str, str] | None = None,
) -> Response:
    if request.headers.get("accept") == SHIM_TYPE:
        body = b"".join(refuse_fields(EXIT.get(status, 69), detail))
        return Response(body, status, headers, SHIM_TYPE)
    if "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/v1/"):
        made = page("error.html", {"title": code.replace("_", " "), "detail": detail}, status)
        made.headers.update(headers or {})
        return made
    problem = {
        "type": "about:blank",
        "title": code.replace("_", " "),
        "status": status,
        "detail": detail,
        "code": code,
        "retryable": retryable,
    }
    return JSONResponse(problem, status, headers, "application/problem+json")


def _named(errors: Sequence[Any], skip: int) -> Invalid:
    """Where and why, of a refused input."""
    said = [f"{'.'.join(map(str, e['loc'][skip:])) or 'body'}: {e['msg']}" for e in errors]
    return Invalid("; ".join(said))


def install(app: FastAPI) -> None:
    """Every error of ours, and every refused input, as a problem."""

    @app.exception_handler(StyxError)
    async def ours(request: Request, error: StyxError) -> Response:
        return answer(request, error)

    @app.exception_handler(RequestValidationError)
    async def refused(request: Request, error: RequestValidationError) -> Response:
        # Only where and why: the value itself may be a secret.
        return answer(request, _named(error.errors(), 1))

    @app.exception_handler(ValidationError)
    async def unsendable(request: Request, error: ValidationError) -> Response:
        # A command holds what a caller said, so it is their input; any other message is our fault.
        if error.title in {command.__name__ for command in COMMANDS.values()}:
            return answer(request, _named(error.errors(), 0))
        return await fault(request, error)

    @app.exception_handler(Refused)
    async def client(_request: Request, error: Refused) -> Response:
        # As OAuth's clients read it (RFC 6749, section 5.2; RFC 7591, section 3.2.2).
        said = {"error": error.error, "error_description": error.detail}
        return JSONResponse(said, error.status, {"Cache-Control": "no-store"})

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        phrase = HTTPStatus(error.status_code).phrase
        code = phrase.lower().replace(" ", "_")
        return _problem(request, error.status_code, code, phrase, headers=error.headers)

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        return answer(request, Internal("Styx failed at this; the broker's log says why"))
