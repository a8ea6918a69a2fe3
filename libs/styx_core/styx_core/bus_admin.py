"""What must exist on NATS before any service connects: stream, catalog bucket, durable consumers.

Done at each start by the bootstrap user, who may do nothing else, and always with the same end:
what is missing is made, what differs is brought to what stands here, what is stored stays.
"""

from collections.abc import Awaitable

import nats
from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import BadRequestError
from nats.js.errors import Error as JsError

from styx_core.contract.rights import (
    CATALOG,
    DURABLES,
    EVENT_SUBJECTS,
    STREAM,
    entry_subject,
    inbox,
)
from styx_core.errors import Unavailable

BOOTSTRAP = "bootstrap"
SECONDS = 5.0
"""Longest wait for one answer of the server."""
DUPLICATES = 300.0
"""Seconds in which the same event id is stored once; a later repeat is the reader's to drop."""
ACK_SECONDS = 30.0
"""A delivered event that nobody acknowledged in this time comes again."""
UNACKED = 1000
"""Delivered and not yet acknowledged events of one consumer, at most."""
_NAME_IN_USE = 10058  # JetStream's code for a stream of this name with another configuration

EVENTS = StreamConfig(
    name=STREAM,
    description="every event of Styx, in order; nothing leaves it",
    subjects=[EVENT_SUBJECTS],
    retention=RetentionPolicy.LIMITS,
    storage=StorageType.FILE,
    duplicate_window=DUPLICATES,
    deny_delete=True,
    deny_purge=True,
)
ENTRIES = StreamConfig(
    name=f"KV_{CATALOG}",
    description="what providers declare; the last value of each key",
    subjects=[entry_subject(">")],
    retention=RetentionPolicy.LIMITS,
    storage=StorageType.FILE,
    max_msgs_per_subject=1,
    allow_rollup_hdrs=True,
    allow_direct=True,
    deny_delete=True,
)


async def prepare_stream(url: str, nkey_seed: str) -> None:
    """Bring the server at `url` to what this file says, signed in with the bootstrap user's seed.

    Raises `Unavailable` when the server doesn't answer, or won't have it, with the server's reason.
    """
    client = await _connect(url, nkey_seed)
    try:
        js = client.jetstream(timeout=SECONDS)
        for config in (EVENTS, ENTRIES):
            await _told(f"stream {config.name}", _stream(js, config))
        for durable, subjects in DURABLES.items():
            made = js.add_consumer(STREAM, consumer(durable, subjects))
            await _told(f"consumer {durable}", made)
    finally:
        await client.close()


def consumer(
    durable: str, subjects: tuple[str, ...], ack_seconds: float = ACK_SECONDS
) -> ConsumerConfig:
    """A durable pull consumer that gets each of its subjects' events until it acknowledges them."""
    one = subjects[0] if len(subjects) == 1 else None
    return ConsumerConfig(
        durable_name=durable,
        filter_subject=one,
        filter_subjects=None if one else list(subjects),
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=ack_seconds,
        max_ack_pending=UNACKED,
    )


async def _connect(url: str, nkey_seed: str) -> Client:
    async def ignore(_error: Exception) -> None:
        """Each request says itself how it failed."""

    try:
        return await nats.connect(
            url,
            name=BOOTSTRAP,
            nkeys_seed_str=nkey_seed,
            inbox_prefix=inbox(BOOTSTRAP).encode(),
            allow_reconnect=False,
            max_reconnect_attempts=2,
            reconnect_time_wait=0.2,
            connect_timeout=SECONDS,
            error_cb=ignore,
        )
    except (TimeoutError, OSError, NatsError) as error:
        raise Unavailable(
            f"the bus at {url} doesn't let the bootstrap user in ({type(error).__name__})"
        ) from error


async def _stream(js: JetStreamContext, config: StreamConfig) -> None:
    try:
        await js.add_stream(config)
    except BadRequestError as error:
        if error.err_code != _NAME_IN_USE:
            raise
        await js.update_stream(config)


async def _told(what: str, made: Awaitable[object]) -> None:
    """Wait for it, and let a failure name what couldn't be made."""
    try:
        await made
    except (NatsError, JsError, TimeoutError) as error:
        raise Unavailable(f"the bus won't have {what}: {error or type(error).__name__}") from error
