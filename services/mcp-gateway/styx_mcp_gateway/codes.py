"""How a refusal reads to an agent: its sentence and a code of our own. Pure.

The protocol leaves -32000 to -32019 to servers. A refusal is a tool's result, never a JSON-RPC
error: clients lose the code of those, or show the model a stack trace.
"""

from typing import Final

from styx_core.errors import Internal, RateLimited, StyxError

CODES: Final[dict[str, int]] = {
    "internal": -32000,
    "invalid": -32001,
    "unauthenticated": -32002,
    "rate_limited": -32003,
    "forbidden": -32004,
    "unknown_target": -32005,
    "unknown_grant": -32006,
    "grant_over": -32007,
    "not_connected": -32008,
    "login_expired": -32009,
    "unavailable": -32010,
    "timed_out": -32011,
    "unrecorded": -32012,
    "provider_failed": -32013,
    "ambiguous_target": -32014,
    "already_decided": -32015,
    "signature_refused": -32016,
    "unknown_task": -32017,
    "unknown_project": -32018,
    "unknown_tool": -32019,
}

PEOPLE_ONLY: Final = frozenset({"unknown_key", "unknown_channel", "unknown_question"})
"""Errors of what people alone do, which no tool can meet: the range has room for twenty."""

RATE_LIMITED: Final = CODES[RateLimited.code]


def refusal(error: StyxError) -> str:
    """`… (code -32003)`; what may pass by itself says so."""
    again = "; try again in a moment" if error.retryable and "again" not in error.detail else ""
    return f"{error.detail}{again} (code {CODES.get(error.code, CODES[Internal.code])})"
