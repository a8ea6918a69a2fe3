"""What `adapters` is asked to tell people, since the ways to do so hold secrets. Pure.

A channel is an address with its secret in it (a webhook's signing key, a chat's token), so it lies
where credentials lie. A notice says that something waits or happened, and where to look: no
command, no reason, no secret.
"""

from typing import Literal

from pydantic import AwareDatetime, Field

from styx_core.contract.base import Command, Done, Message
from styx_core.contract.values import Id, Line, Name

NoticeKind = Literal[
    "access.requested", "access.decided", "grant.ending", "target.expired", "channel.tested"
]


class Notice(Message):
    """One thing to tell; `id` stays the same however often it is tried."""

    id: Id
    kind: NoticeKind
    at: AwareDatetime
    title: Line
    text: Line
    link: Line
    about: dict[Name, Line] = Field(default_factory=dict)


class ChannelKept(Message):
    """What a channel is called where people see it: its kind and host, no secret."""

    label: str


class KeepChannel(Command[ChannelKept], owner="adapters", by=("broker",)):
    """Keep a channel. `box`: its `url`, and for a webhook its `secret`, sealed as for a target."""

    channel_id: Id
    box: str = Field(max_length=100_000)


class DropChannel(Command[Done], owner="adapters", by=("broker",)):
    """Forget a channel."""

    channel_id: Id


class Tell(Command[Done], owner="adapters", by=("broker",), deadline=25.0):
    """Send a notice over a channel, once, now. `ProviderFailed` says that it wasn't taken."""

    channel_id: Id
    notice: Notice
