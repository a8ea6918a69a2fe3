"""`python -m styx_audit`: the service alone."""

from styx_core.service import run
from styx_core.settings import Settings

from styx_audit.app import service

run(service, Settings())
