"""The shipped suite, under the name that these tests know it by."""

from styx_adapters.conformance import HOSTILE, Case, Conformance, held, now, values

__all__ = ["HOSTILE", "Case", "Conformance", "held", "now", "values"]
