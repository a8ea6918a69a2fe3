"""Who may say and hear what on NATS: derived from the contract. Pure.

JetStream's own subjects are listed by the operation they allow (NATS docs, "JetStream wire API").
No service may create, change, delete or purge a stream: only the bootstrap user does.
"""

from dataclasses import dataclass

from styx_core.contract import adapters, broker, grants, grants_events
from styx_core.contract.base import COMMANDS, EVENTS, VERSION

_DECLARING = (adapters, broker, grants, grants_events)

SERVICES = ("broker", "grants", "audit", "adapters", "mcp-gateway")
STREAM = "STYX_EVENTS"
EVENT_SUBJECTS = f"{VERSION}.evt.>"
CATALOG = "styx_catalog"
DURABLES: dict[str, tuple[str, ...]] = {"audit": (EVENT_SUBJECTS,)}
"""Service → the event subjects that its durable consumer (of the same name) reads."""
LISTENERS = ("broker", "mcp-gateway")
"""Services that hold callers, and so hear decisions as they happen."""
PUBLISHERS_OF_CATALOG = ("adapters",)


@dataclass(frozen=True)
class Rights:
    """What one NATS user may publish to and subscribe to."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]


def inbox(service: str) -> str:
    """The private reply prefix of a service: no other may listen there."""
    return f"_INBOX_{service}"


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
        publish.append(f"$KV.{CATALOG}.>")
    subscribe = [c.subject for c in COMMANDS.values() if c.owner == service]
    subscribe += [f"{inbox(service)}.>", "$SRV.>"]
    if service in LISTENERS:
        subscribe.append(f"{VERSION}.evt.grants.>")
    if service in DURABLES:
        publish += [
            f"$JS.API.CONSUMER.INFO.{STREAM}.{service}",
            f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{service}",
            f"$JS.ACK.{STREAM}.{service}.>",
        ]
    return Rights(tuple(sorted(publish)), tuple(sorted(subscribe)))
