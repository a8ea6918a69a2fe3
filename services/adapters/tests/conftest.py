"""Lets these tests import the plain modules that stand beside them, and those of the providers."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "providers")]

pytest.register_assert_rewrite("styx_adapters.conformance")
