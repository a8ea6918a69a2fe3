"""Every error that may cross the bus or HTTP: one class each, with its code. Pure.

A code is for programs, `detail` for people: what happened, why, and what to do next. No detail
ever holds a secret. `retryable` says that the same call may succeed later, unchanged.
"""

from typing import ClassVar

BY_CODE: dict[str, type["StyxError"]] = {}


class StyxError(Exception):
    """The root of all errors that Styx tells its callers about."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    retryable: ClassVar[bool] = False

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __init_subclass__(cls, code: str, status: int, retryable: bool = False) -> None:
        cls.code, cls.status, cls.retryable = code, status, retryable
        BY_CODE[code] = cls


class Internal(StyxError, code="internal", status=500):
    """A fault of Styx's own; its cause is in the service's log, never in the answer."""


class Invalid(StyxError, code="invalid", status=422):
    """The input can't be taken; the detail names the part."""


class Unauthenticated(StyxError, code="unauthenticated", status=401):
    """No token, a wrong one, or one whose task has ended."""


class Forbidden(StyxError, code="forbidden", status=403):
    """Known, but not allowed to do this."""


class UnknownTarget(StyxError, code="unknown_target", status=404):
    """No such target in the caller's project."""


class UnknownGrant(StyxError, code="unknown_grant", status=404):
    """No such grant that the caller may see."""


class UnknownTask(StyxError, code="unknown_task", status=404):
    """No such task that the caller may see."""


class UnknownProject(StyxError, code="unknown_project", status=404):
    """No such project that the caller may see."""


class UnknownKey(StyxError, code="unknown_key", status=404):
    """No such key that the caller may see."""


class UnknownChannel(StyxError, code="unknown_channel", status=404):
    """No such channel, or notice, that the caller may see."""


class UnknownQuestion(StyxError, code="unknown_question", status=404):
    """No such question that the caller may see."""


class UnknownTool(StyxError, code="unknown_tool", status=404):
    """No provider in the catalog owns this tool."""


class AmbiguousTarget(StyxError, code="ambiguous_target", status=409):
    """Several targets fit; the caller must name one."""


class NotConnected(StyxError, code="not_connected", status=409):
    """The target has no working credential: connect it first."""


class LoginExpired(StyxError, code="login_expired", status=409):
    """The provider refused the target's own credential: reconnect it."""


class AlreadyDecided(StyxError, code="already_decided", status=409):
    """Somebody, or something, decided first; the detail says who."""


class GrantOver(StyxError, code="grant_over", status=409):
    """The grant has ended; ask again."""


class SignatureRefused(StyxError, code="signature_refused", status=403):
    """The approval isn't signed, or not over this very decision."""


class RateLimited(StyxError, code="rate_limited", status=429, retryable=True):
    """Too many calls in this minute."""


class Unavailable(StyxError, code="unavailable", status=503, retryable=True):
    """A part that this needs is away; nothing was done."""


class TimedOut(StyxError, code="timed_out", status=504, retryable=True):
    """A part did not answer within the deadline."""


class Unrecorded(StyxError, code="unrecorded", status=503, retryable=True):
    """The record could not be made durable, so nothing was issued."""


class ProviderFailed(StyxError, code="provider_failed", status=502, retryable=True):
    """The provider answered with an error that isn't about our login."""


def from_wire(code: str, detail: str) -> StyxError:
    """The error that a service sent, as an exception; an unknown code becomes `Internal`."""
    return BY_CODE.get(code, Internal)(detail)


def reason(error: Exception) -> str:
    """An error in a word or two for a log: our own says why, any other only what kind it is."""
    return error.detail if isinstance(error, StyxError) else type(error).__name__
