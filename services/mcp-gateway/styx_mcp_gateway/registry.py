"""The tools that agents see, in their order."""

from typing import Any

from styx_mcp_gateway.tool import Tool
from styx_mcp_gateway.tools import (
    ask_user,
    check_grant,
    get_credential,
    inbox,
    list_sessions,
    list_targets,
    report_status,
    request_access,
    send_message,
)

TOOLS: tuple[Tool[Any], ...] = (
    list_targets.TOOL,
    request_access.TOOL,
    check_grant.TOOL,
    get_credential.TOOL,
    report_status.TOOL,
    ask_user.TOOL,
    list_sessions.TOOL,
    send_message.TOOL,
    inbox.TOOL,
)
BY_NAME: dict[str, Tool[Any]] = {tool.name: tool for tool in TOOLS}
