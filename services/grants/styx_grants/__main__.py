"""`python -m styx_grants`: the service alone."""

from styx_core.service import run
from styx_core.settings import Settings

from styx_grants.app import service

run(service, Settings())
