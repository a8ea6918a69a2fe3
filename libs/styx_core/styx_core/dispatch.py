"""The edge of the bus: a handler's outcome becomes a reply or a `Fault`; nothing else crosses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from pydantic import ValidationError

from styx_core import telemetry
from styx_core.contract.base import COMMANDS, Command, Fault, Message, snake
from styx_core.errors import Internal, Invalid, StyxError, TimedOut

log = structlog.get_logger()

Handler = Callable[[Any], Awaitable[Message]]

MOST_BYTES = 1_000_000
"""Most of a command: what a NATS message may hold, less room for its headers."""


def handlers_of(owner: str, deps: object, *modules: Any) -> dict[type[Command[Any]], Handler]:
    """Each command of an owner with its function: `Authorize` → `authorize(command, deps)`.

    Raises `LookupError` when a command of the contract has no function.
    """
    found: dict[type[Command[Any]], Handler] = {}
    for kind in COMMANDS.values():
        if kind.owner != owner:
            continue
        name = snake(kind.__name__)
        function = next((getattr(m, name) for m in modules if hasattr(m, name)), None)
        if function is None:
            raise LookupError(f"{owner} has no handler {name}")
        found[kind] = _bound(function, deps)
    return found


def _bound(function: Callable[..., Awaitable[Message]], deps: object) -> Handler:
    return lambda command: function(command, deps)


def encoded(command: Command[Any]) -> bytes:
    """A command as it crosses the bus. Raises `Invalid` for one that no message can hold."""
    body = command.model_dump_json().encode()
    if len(body) > MOST_BYTES:
        raise Invalid(
            f"this call is too large ({len(body):,} bytes; Styx can pass on {MOST_BYTES:,}), so "
            "nothing was asked"
        )
    return body


async def answer(
    kind: type[Command[Any]], handler: Handler, body: bytes, trace: str, seconds: float
) -> Message:
    """Run a handler at the edge of the bus: the reply, or the `Fault` that its caller may see."""
    name = snake(kind.__name__)
    with (
        telemetry.span(f"handle {kind.subject}", trace),
        telemetry.command(kind.owner, name) as met,
    ):
        try:
            if seconds <= 0:  # its caller has been told already that it was not done
                raise TimedOut(f"{name} came after its deadline, so it was not done")
            command = _read(kind, body)
            return await asyncio.wait_for(handler(command), seconds)
        except StyxError as error:
            met(error.code)
            return Fault(code=error.code, detail=error.detail, retryable=error.retryable)
        except TimeoutError:
            met(TimedOut.code)
            return Fault(
                code=TimedOut.code, detail=f"{name} ran out of its deadline", retryable=True
            )
        except Exception as error:
            met(Internal.code)
            log.exception("handler failed", command=name, error=type(error).__name__)
            detail = f"{kind.owner} failed at {name}; its log says why"
            return Fault(code=Internal.code, detail=detail, retryable=False)


def _read(kind: type[Command[Any]], body: bytes) -> Command[Any]:
    """The command. Raises `Invalid`, which names each field that is wrong and no value."""
    try:
        return kind.model_validate_json(body, strict=True)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}"
            for each in error.errors(include_input=False, include_url=False)
        )
        raise Invalid(f"{snake(kind.__name__)}: {wrong}") from None
