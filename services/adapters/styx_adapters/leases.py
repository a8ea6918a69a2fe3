"""Live credentials in memory, so that one grant's second call needs no second minting."""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from weakref import WeakValueDictionary

from styx_core.contract.adapters import Issue

from styx_adapters.adapter import Minted

LEAST_LEFT = timedelta(seconds=60)
"""A credential with less life than this is not handed out again."""

Key = tuple[str, str | None, str | None, str | None]


class Leases:
    """Minted credentials by what they are good for; forgotten when they end."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._held: dict[Key, tuple[str, Minted]] = {}
        self._turns: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    def find(self, command: Issue) -> tuple[str, Minted] | None:
        """The id and credential of a live lease that fits."""
        found = self._held.get(_key(command))
        if found is None:
            return None
        lease_id, minted = found
        left = minted.expires_at - self._now()
        outlives_grant = command.expires_at is not None and minted.expires_at >= command.expires_at
        fits = left > LEAST_LEFT or (outlives_grant and left > timedelta(0))
        return (lease_id, minted) if fits else None

    def turn(self, command: Issue) -> asyncio.Lock:
        """Held while a credential for this is minted: who comes meanwhile finds it, not another."""
        return self._turns.setdefault(_key(command), asyncio.Lock())

    def keep(self, command: Issue, minted: Minted) -> None:
        """Hold a credential for the grant's next call."""
        now = self._now()
        self._held = {k: v for k, v in self._held.items() if v[1].expires_at > now}
        self._held[_key(command)] = (command.lease_id, minted)

    def forget(self, lease_id: str) -> None:
        """Drop an ended lease."""
        self._held = {k: v for k, v in self._held.items() if v[0] != lease_id}


def _key(command: Issue) -> Key:
    one_call = command.exec_id if command.once else command.public_key
    return command.grant_id, command.surface, one_call, ",".join(command.scopes)
