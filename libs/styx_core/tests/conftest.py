"""Lets these tests import the plain modules that stand beside them, and be traced."""

import sys
from functools import cache
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from styx_core import telemetry

sys.path.insert(0, str(Path(__file__).parent))


@cache
def _collecting() -> None:
    """A process has one provider, for good."""
    telemetry.trace_to(InMemorySpanExporter(), None, 1.0)


@pytest.fixture
def traced() -> None:
    """Somebody collects spans."""
    _collecting()
