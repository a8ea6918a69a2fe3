"""`python -m styx_broker`: the service alone."""

from styx_core.service import run
from styx_core.settings import Settings

from styx_broker.app import service

run(service, Settings())
