"""nats-server's configuration, rendered from data. Pure.

NATS's configuration language is a superset of JSON, so the text is JSON. Rules: every user signs
in with an nkey (no password exists), may say only what its lists hold (an empty list is nothing,
not everything), and only the bootstrap user may make or change a stream; nobody may delete, purge,
snapshot or restore one. A user that breaks this is refused here, before a server sees it.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_PAYLOAD = 1_048_576
"""Largest message in bytes."""
MAX_CONNECTIONS = 1_024
MAX_SUBSCRIPTIONS = 4_096
"""Per connection."""
MEMORY_STORE = 64 * 1_048_576
"""Bytes of memory that JetStream may take; Styx's streams are on disk."""

MAKE_STREAMS = ("$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.UPDATE.*")
"""For the bootstrap user alone."""
FORBIDDEN = (
    "$JS.API.STREAM.DELETE.*",
    "$JS.API.STREAM.PURGE.*",
    "$JS.API.STREAM.MSG.DELETE.*",
    "$JS.API.STREAM.SNAPSHOT.*",
    "$JS.API.STREAM.RESTORE.*",
    "$SYS.>",
)
"""For nobody: what is in a stream stays."""


@dataclass(frozen=True, slots=True)
class NatsUser:
    """Who may connect and what it may say: `nkey` is the public key (`U…`).

    `allow_responses` lets it answer a request on the request's own reply subject. `makes_streams`
    marks the bootstrap user.
    """

    nkey: str
    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()
    allow_responses: bool = False
    makes_streams: bool = False


def bootstrap_user(nkey: str, inbox: str) -> NatsUser:
    """The user that makes streams, KV buckets and durable consumers, and nothing else.

    `inbox` is its reply prefix, such as `_INBOX_bootstrap`.
    """
    return NatsUser(
        nkey=nkey,
        publish=(
            *MAKE_STREAMS,
            "$JS.API.INFO",
            "$JS.API.STREAM.INFO.*",
            "$JS.API.STREAM.NAMES",
            "$JS.API.STREAM.LIST",
            "$JS.API.CONSUMER.CREATE.>",
            "$JS.API.CONSUMER.DURABLE.CREATE.>",
            "$JS.API.CONSUMER.INFO.>",
        ),
        subscribe=(f"{inbox}.>",),
        makes_streams=True,
    )


def operator_user(nkey: str) -> NatsUser:
    """The user of an operator's own tools (`nats micro`): asks services how they are, no more."""
    return NatsUser(nkey=nkey, publish=("$SRV.>",), subscribe=("_INBOX.>",))


def render(
    host: str,
    port: int,
    store_dir: str,
    users: Mapping[str, NatsUser],
    *,
    server_name: str = "styx",
    sync_always: bool = True,
    monitor: int | None = None,
) -> str:
    """The configuration file's text.

    `sync_always` flushes each stored message to disk before its acknowledgement: one server alone
    needs it, a cluster of three may leave it off. `monitor` is the HTTP port of statistics, bound
    to `host`. Raises `ValueError` naming the user that asks for what it may not have.
    """
    for problem in problems(users):
        raise ValueError(problem)
    jetstream: dict[str, Any] = {"store_dir": store_dir, "max_memory_store": MEMORY_STORE}
    if sync_always:
        jetstream["sync_interval"] = "always"
    config: dict[str, Any] = {
        "server_name": server_name,
        "listen": f"{host}:{port}",
        "max_payload": MAX_PAYLOAD,
        "max_connections": MAX_CONNECTIONS,
        "max_subscriptions": MAX_SUBSCRIPTIONS,
        "jetstream": jetstream,
        "authorization": {"timeout": 5, "users": [_user(user) for user in users.values()]},
    }
    if monitor is not None:
        config["http"] = f"{host}:{monitor}"
    return json.dumps(config, indent=2) + "\n"


def problems(users: Mapping[str, NatsUser]) -> Iterator[str]:
    """What is wrong with these users, one line each; nothing when all is well."""
    if not users:
        yield "a NATS server without users would let everybody in: name at least one"
    owners: dict[str, str] = {}
    for name, user in users.items():
        first = owners.setdefault(user.nkey, name)
        if first != name:
            yield f"NATS users {first} and {name} have the same key"
        if not (user.nkey.startswith("U") and len(user.nkey) == 56):
            yield f"NATS user {name} has no user nkey (56 characters that begin with U)"
        barred = FORBIDDEN if user.makes_streams else FORBIDDEN + MAKE_STREAMS
        for subject in user.publish:
            for law in barred:
                if overlaps(subject, law):
                    yield f"NATS user {name} may not publish {subject}: it reaches {law}"


def overlaps(one: str, other: str) -> bool:
    """Whether a subject exists that both patterns match (`*` is one word, `>` one or more)."""
    left, right = one.split("."), other.split(".")
    for a, b in zip(left, right, strict=False):
        if ">" in (a, b):
            return True
        if a != b and "*" not in (a, b):
            return False
    return len(left) == len(right)


def _user(user: NatsUser) -> dict[str, Any]:
    permissions: dict[str, Any] = {
        "publish": _only(user.publish),
        "subscribe": _only(user.subscribe),
    }
    if user.allow_responses:
        permissions["allow_responses"] = True
    return {"nkey": user.nkey, "permissions": permissions}


def _only(subjects: tuple[str, ...]) -> dict[str, list[str]]:
    """An empty allow list would mean "everything" to the server: say the opposite in words."""
    return {"allow": list(subjects)} if subjects else {"deny": [">"]}
