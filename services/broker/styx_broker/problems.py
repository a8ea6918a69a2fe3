"""Errors over HTTP: problem details (RFC 9457), or the shim's fields where a shim asks."""

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from styx_core.errors import Internal, Invalid, StyxError, Unauthenticated

from styx_broker.exec_wire import SHIM_TYPE, refuse_fields

EXIT = {401: 78, 403: 77, 404: 64, 409: 77, 422: 64, 413: 64}
"""Exit codes of the shim for our statuses; any other is 69, unavailable (sysexits.h)."""


def answer(request: Request, error: StyxError) -> Response:
    """The response for one of our errors."""
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else {}
    if error.retryable:
        headers["Retry-After"] = "1"
    if request.headers.get("accept") == SHIM_TYPE:
        body = b"".join(refuse_fields(EXIT.get(error.status, 69), error.detail))
        return Response(body, error.status, headers, SHIM_TYPE)
    return JSONResponse(
        {
            "type": "about:blank",
            "title": error.code.replace("_", " "),
            "status": error.status,
            "detail": error.detail,
            "code": error.code,
            "retryable": error.retryable,
        },
        error.status,
        headers,
        "application/problem+json",
    )


def install(app: FastAPI) -> None:
    """Every error of ours, and every refused input, as a problem."""

    @app.exception_handler(StyxError)
    async def ours(request: Request, error: StyxError) -> Response:
        return answer(request, error)

    @app.exception_handler(RequestValidationError)
    async def refused(request: Request, error: RequestValidationError) -> Response:
        # Only where and why: the value itself may be a secret.
        said = [f"{'.'.join(map(str, e['loc'][1:])) or 'body'}: {e['msg']}" for e in error.errors()]
        return answer(request, Invalid("; ".join(said)))

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        body = {"type": "about:blank", "title": str(error.detail), "status": error.status_code}
        return JSONResponse(body, error.status_code, media_type="application/problem+json")

    @app.exception_handler(Exception)
    async def fault(request: Request, error: Exception) -> Response:
        return answer(request, Internal("Styx failed at this; the broker's log says why"))
