"""For all tests: made-up data is judged by what comes out of it, never by how long it took."""

from hypothesis import HealthCheck, settings

settings.register_profile("styx", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("styx")
