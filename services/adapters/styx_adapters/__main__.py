"""`python -m styx_adapters`: the service alone."""

from styx_core.service import run
from styx_core.settings import Settings

from styx_adapters.app import service

run(service, Settings())
