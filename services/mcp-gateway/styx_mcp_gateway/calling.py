"""One call of a tool, from its arguments to its result; every refusal is a result too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from styx_core import telemetry
from styx_core.errors import Internal, StyxError

from styx_mcp_gateway.codes import refusal
from styx_mcp_gateway.tool import Call, Tool

log = structlog.get_logger()

SERVICE = "mcp-gateway"


@dataclass(frozen=True)
class Answer:
    """What the client gets: fields, or a refusal's text."""

    fields: dict[str, Any] | None
    refused: str = ""


async def answer(tool: Tool[Any], given: Mapping[str, Any], call: Call, trace: str) -> Answer:
    """Count the call, check its arguments, run it; nothing but a result comes out."""
    with (
        telemetry.span(f"tool {tool.name}", trace),
        telemetry.command(SERVICE, tool.name) as met,
    ):
        try:
            call.deps.limits.take(call.task.task_id, tool.name, "too many access requests")
            result = await tool.run(tool.check(given), call)
        except StyxError as error:
            met(error.code)
            return Answer(None, refusal(error))
        except Exception as error:
            met(Internal.code)
            log.exception("tool failed", tool=tool.name, error=type(error).__name__)
            failed = Internal("Styx failed at this call; tell your person, its log says why")
            return Answer(None, refusal(failed))
        return Answer(result.model_dump(mode="json", by_alias=True, exclude_unset=True))
