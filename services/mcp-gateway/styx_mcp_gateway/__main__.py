"""`python -m styx_mcp_gateway`: the service alone."""

from styx_core.service import run
from styx_core.settings import Settings

from styx_mcp_gateway.app import service

run(service, Settings())
