"""FastMCP's server with one empty tool, stateless, answering as JSON."""

from typing import Any

from fastmcp import FastMCP
from floor_serving import serve

server = FastMCP("floor")


@server.tool
def list_targets() -> dict[str, Any]:
    """Nothing."""
    return {"targets": []}


serve(server.http_app(path="/mcp", stateless_http=True, json_response=True))
