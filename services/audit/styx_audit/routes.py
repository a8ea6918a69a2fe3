"""`/audit/*`: search, one entry with its proof, checkpoints, consistency, export.

For people who may look: a person's bearer, or the owner of this machine through the socket.
Whoever has a role in some projects alone reads the entries of those; the log as a whole is for
those who may see every project.
"""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from styx_core.bus import Bus
from styx_core.contract.broker import IdentifyPerson
from styx_core.db import Database
from styx_core.errors import Forbidden, Invalid, StyxError, Unauthenticated

from styx_audit import repository as repo
from styx_audit.entries import decode
from styx_audit.export import export
from styx_audit.merkle import consistency_proof, inclusion_proof
from styx_audit.signer import Signer

MOST = 1000
COOKIE = "__Host-styx"
"""How the names of the broker's cookies begin; what follows is the port, where there is one."""


@dataclass(frozen=True)
class Deps:
    """The service's edges."""

    bus: Bus
    db: Database
    signer: Signer


def build(deps: Deps) -> Starlette:
    """The HTTP face."""
    app = Starlette(
        routes=[
            Route("/audit/entries", entries),
            Route("/audit/entries/{seq:int}", one_entry),
            Route("/audit/checkpoint", checkpoint),
            Route("/audit/consistency", consistency),
            Route("/audit/export", export_all),
        ],
        exception_handlers={StyxError: _problem},
    )
    app.state.deps = deps
    return app


async def _problem(_request: Request, error: Exception) -> Response:
    known = error if isinstance(error, StyxError) else StyxError("the audit service failed")
    body = {"title": known.code.replace("_", " "), "status": known.status, "code": known.code}
    return JSONResponse(
        {"type": "about:blank", **body, "detail": known.detail, "retryable": known.retryable},
        known.status,
        media_type="application/problem+json",
    )


async def _reader(request: Request) -> tuple[Deps, tuple[str, ...] | None]:
    """The edges, and the projects that the caller may read of (None: all).

    Raises `Unauthenticated`.
    """
    deps: Deps = request.app.state.deps
    token = _shown(request)
    if token is not None:
        digest = sha256(token.encode()).hexdigest()
        known = await deps.bus.request(IdentifyPerson(bearer_sha256=digest))
        return deps, None if known.everywhere else known.projects
    server = request.scope.get("server")
    if server is not None and server[1] is None:
        return deps, None
    raise Unauthenticated("sign in: set STYX_ADMIN_TOKEN to what `styx login` gave you")


async def _allowed(request: Request) -> Deps:
    """The edges, for who may read the whole log. Raises `Unauthenticated`, `Forbidden`."""
    deps, projects = await _reader(request)
    if projects is not None:
        raise Forbidden("the log tells of every project: ask an owner of this Styx for a role")
    return deps


def _shown(request: Request) -> str | None:
    """A person's bearer, or the cookie of their signed-in browser; every route here only reads."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token
    return next((v for name, v in request.cookies.items() if name.startswith(COOKIE)), None)


def _number(request: Request, name: str, default: int | None) -> int | None:
    value = request.query_params.get(name)
    if value is None:
        return default
    if not (value.isascii() and value.isdigit() and len(value) < 19):
        raise Invalid(f"{name}: a whole number is needed")
    return int(value)


def _b64(hashes: tuple[bytes, ...]) -> list[str]:
    return [base64.b64encode(each).decode() for each in hashes]


async def entries(request: Request) -> Response:
    """Search: any field by its name, `text` for words anywhere, `before` and `limit` to page."""
    deps, projects = await _reader(request)
    special = ("text", "before", "limit")
    where = {k: v for k, v in request.query_params.items() if k not in special}
    if projects is not None and where.get("project_id") not in projects:
        raise Forbidden("project_id: name a project that you have a role in")
    text, before = request.query_params.get("text"), _number(request, "before", None)
    limit = min(_number(request, "limit", 100) or 100, MOST)
    found = await deps.db.read(lambda c: repo.search(c, where, text, before, limit))
    return JSONResponse({"entries": found})


async def one_entry(request: Request) -> Response:
    """One entry whole, with its inclusion proof under the newest signed checkpoint."""
    deps, projects = await _reader(request)
    seq = int(request.path_params["seq"])
    size, note = await deps.signer.note()

    def look(c: Connection) -> dict[str, Any]:
        row = repo.entry(c, seq) if seq < size else None
        if row is None:
            raise Invalid(f"seq: the log holds entries 0 to {size - 1}")
        if projects is not None and row.project_id not in projects:
            raise Forbidden(f"entry {seq} tells of a project that you have no role in")
        proof = inclusion_proof(seq, size, lambda level, at: repo.node(c, level, at))
        return {"seq": seq, "entry": decode(row.body), "proof": _b64(proof), "checkpoint": note}

    return JSONResponse(await deps.db.read(look))


async def checkpoint(request: Request) -> Response:
    """The newest signed checkpoint and the public key to check it with."""
    deps = await _allowed(request)
    size, note = await deps.signer.note()
    return JSONResponse({"size": size, "note": note, "key": str(await deps.signer.verifier())})


async def consistency(request: Request) -> Response:
    """The proof that the log of `first` entries is the beginning of the log of `second`."""
    deps = await _allowed(request)
    first, second = _number(request, "first", None), _number(request, "second", None)

    def look(c: Connection) -> list[str]:
        if first is None or second is None or not 0 < first <= second <= repo.size(c):
            raise Invalid("first, second: two sizes, 0 < first ≤ second ≤ the log's size")
        return _b64(consistency_proof(first, second, lambda level, at: repo.node(c, level, at)))

    return JSONResponse({"first": first, "second": second, "proof": await deps.db.read(look)})


async def export_all(request: Request) -> Response:
    """The whole log up to the newest checkpoint, as `styx audit verify` checks it."""
    deps = await _allowed(request)
    size, note = await deps.signer.note()
    key = str(await deps.signer.verifier())

    def lines() -> Iterator[str]:
        with deps.db.reading.connect() as c:
            nodes = lambda level, at: repo.node(c, level, at)  # noqa: E731
            for line in export(repo.bodies(c, size), size, note, key, nodes):
                yield f"{line}\n"

    return StreamingResponse(lines(), media_type="application/jsonl")
