"""The tools that agents see, in their order."""

from typing import Any

from styx_mcp_gateway.tool import Tool
from styx_mcp_gateway.tools import check_grant, get_credential, list_targets, request_access

TOOLS: tuple[Tool[Any], ...] = (
    list_targets.TOOL,
    request_access.TOOL,
    check_grant.TOOL,
    get_credential.TOOL,
)
BY_NAME: dict[str, Tool[Any]] = {tool.name: tool for tool in TOOLS}
