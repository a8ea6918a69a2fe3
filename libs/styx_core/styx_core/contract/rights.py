"""Who may say and hear what on NATS: derived from the contract. Pure.

JetStream's own subjects are listed by the operation they allow (NATS docs, "JetStream wire API").
No service may create, change, delete or purge a stream: only the bootstrap user does.
"""

from dataclasses import dataclass
from functools import lru_cache

from styx_core.contract import (
    adapters,
    adapters_notices,
    broker,
    broker_board,
    grants,
    grants_events,
    grants_people,
    grants_policies,
)
from styx_core.contract.base import COMMANDS, EVENTS, VERSION
from styx_core.errors import Forbidden

_GRANTS = (grants, grants_events, grants_people, grants_policies)
_DECLARING = (adapters, adapters_notices, broker, broker_board, *_GRANTS)

SERVICES = ("broker", "grants", "audit", "adapters", "mcp-gateway")
STREAM = "STYX_EVENTS"
EVENT_SUBJECTS = f"{VERSION}.evt.>"
CATALOG = "styx_catalog"
TOLD = (
    grants_events.AccessRequested,
    grants_events.GrantDecided,
    grants_events.GrantEnded,
    grants_events.GrantExtended,
    grants_events.TargetHealthChanged,
)
"""Events that people, wherever they are, or agents may want to be told of."""
DURABLES: dict[str, tuple[str, ...]] = {
    "audit": (EVENT_SUBJECTS,),
    "broker": tuple(event.subject for event in TOLD),
}
"""Service → the event subjects that its durable consumer (of the same name) reads."""
LISTENERS = {"broker": ("broker", "grants"), "mcp-gateway": ("broker", "grants")}
"""Services that hold callers or open pages → whose events they hear as they happen."""
PUBLISHERS_OF_CATALOG = ("adapters",)


@dataclass(frozen=True)
class Rights:
    """What one NATS user may publish to and subscribe to."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox(service: str) -> str:
    """The private reply prefix of a service: no other may listen there."""
    return f"_INBOX_{service}"


def next_subject(durable: str) -> str:
    """Where a durable consumer's next events are asked for."""
    return f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{durable}"


def entry_subject(key: str) -> str:
    """Where a catalog entry is kept."""
    return f"$KV.{CATALOG}.{key}"


@lru_cache(maxsize=32)
def rights(service: str) -> Rights:
    """The NATS permissions of a service's user."""
    kv = f"KV_{CATALOG}"
    publish = [c.subject for c in COMMANDS.values() if service in c.by]
    publish += [e.subject for e in EVENTS.values() if e.owner == service]
    publish += [
        "$JS.API.INFO",
        f"$JS.API.STREAM.INFO.{kv}",
        f"$JS.API.STREAM.MSG.GET.{kv}",
        f"$JS.API.DIRECT.GET.{kv}.>",
        f"$JS.API.CONSUMER.CREATE.{kv}.>",
        f"$JS.API.CONSUMER.DELETE.{kv}.>",
        f"$JS.FC.{kv}.>",
    ]
    if service in PUBLISHERS_OF_CATALOG:
        publish.append(entry_subject(">"))
    # Replies go to the callers that the contract names, and to an operator's own tools: a general
    # permission to answer would let a listener forge the stream's acknowledgement of an event.
    callers = {by for c in COMMANDS.values() if c.owner == service for by in c.by}
    publish += [f"{inbox(by)}.>" for by in callers] + ["_INBOX.>"]
    subscribe = [c.subject for c in COMMANDS.values() if c.owner == service]
    subscribe += [f"{inbox(service)}.>", "$SRV.>"]
    subscribe += [f"{VERSION}.evt.{owner}.>" for owner in LISTENERS.get(service, ())]
    if service in DURABLES:
        publish += [
            f"$JS.API.CONSUMER.INFO.{STREAM}.{service}",
            next_subject(service),
            f"$JS.ACK.{STREAM}.{service}.>",
        ]
    return Rights(tuple(sorted(publish)), tuple(sorted(subscribe)))


def check_say(service: str, subject: str) -> None:
    """Raise `Forbidden` at once for what the server would refuse in silence."""
    if not _may_say(service, subject):
        raise Forbidden(f"{service} may not send {subject}; the contract says who may")


@lru_cache(maxsize=1024)
def _may_say(service: str, subject: str) -> bool:
    return any(covers(allowed, subject) for allowed in rights(service).publish)


def check_hear(service: str, pattern: str) -> None:
    """The same for what a service would hear: a subject, or a pattern of subjects."""
    if not any(covers(allowed, pattern) for allowed in rights(service).subscribe):
        raise Forbidden(f"{service} may not hear {pattern}; the contract says who may")


def covers(pattern: str, subject: str) -> bool:
    """Whether all that `subject` names, which may hold wildcards itself, fits `pattern`."""
    allowed, asked = pattern.split("."), subject.split(".")
    for at, word in enumerate(allowed):
        if word == ">":
            return len(asked) > at
        if at >= len(asked) or asked[at] == ">" or word not in ("*", asked[at]):
            return False
    return len(allowed) == len(asked)
