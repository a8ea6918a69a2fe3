"""Policies as a page: a project's rules as a table and as their text, changed with a passkey."""

import tomllib
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response
from styx_core.contract.grants import ReadPolicy

from styx_broker import repository as repo
from styx_broker.auth import TheDeps
from styx_broker.rendering import page
from styx_broker.viewing import TheViewer, frame

router = APIRouter(include_in_schema=False)


@router.get("/policies")
async def policies(request: Request, deps: TheDeps, caller: TheViewer) -> Response:
    """Every project's rules; owners may change theirs."""
    shown = []
    for row in await deps.db.read(lambda c: repo.projects(c, caller.projects)):
        toml = (await deps.bus.request(ReadPolicy(project_id=row.id))).toml
        shown.append((row, toml, rules(toml), caller.may(row.id, "owner")))
    return page("policies.html", frame(request, caller, "policies") | {"policies": shown})


def rules(toml: str) -> list[dict[str, Any]]:
    """Rules as rows of a table, from a text that `grants` has accepted."""
    return [
        {
            "id": rule["id"],
            "effect": rule["effect"],
            "match": "; ".join(f"{k}: {_words(v)}" for k, v in rule.get("match", {}).items()),
            "more": "; ".join(
                f"{k}: {_words(v)}" for k, v in rule.items() if k not in ("id", "effect", "match")
            ),
        }
        for rule in tomllib.loads(toml).get("rule", [])
    ]


def _words(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
