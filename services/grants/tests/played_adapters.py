"""An `adapters` that is played: it mints by counting, seals for real and remembers its orders."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from styx_core.contract.adapters import Issue, Issued, Revoked, RevokeLease
from styx_core.contract.grants import Sealed
from styx_core.errors import StyxError
from styx_core.seal import seal, use_info

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
"""A Monday, noon."""
SECRET = {"env": {"AWS_SESSION_TOKEN": "FIXTURE-session"}}


class Clock:
    """Wall time, as a test sets it."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        return self.time

    def on(self, by: timedelta) -> None:
        """Let time pass."""
        self.time += by


async def _nothing() -> None:
    return None


@dataclass
class PlayedAdapters:
    """Mints by counting and seals for real. Like the real one it hands a live lease out again."""

    clock: Clock
    asked: list[Issue] = field(default_factory=list)
    ended: list[RevokeLease] = field(default_factory=list)
    fails: StyxError | None = None
    outcome: str = "hard"
    life: timedelta = timedelta(hours=1)
    revocable: str = "hard"
    minted: Callable[[], Awaitable[object]] = _nothing
    """What happens between a mint and its answer."""
    held: dict[tuple[object, ...], str] = field(default_factory=dict)

    async def issue(self, command: Issue) -> Issued:
        """A credential, or the trouble that is set."""
        self.asked.append(command)
        if self.fails is not None:
            raise self.fails
        key = (command.grant_id, command.surface, command.exec_id if command.once else None)
        fresh = key not in self.held
        lease_id = self.held.setdefault(key, command.lease_id)
        await self.minted()
        until = self.clock() + self.life
        return Issued(
            sealed=Sealed(
                lease_id=lease_id,
                kind="env",
                box=seal(SECRET, command.edge_key, use_info(command.grant_id, command.exec_id)),
                expires_at=until if command.expires_at is None else min(until, command.expires_at),
                scoped=True,
                revocable=self.revocable,
            ),
            fresh=fresh,
            handle={"session": lease_id},
        )

    async def revoke(self, command: RevokeLease) -> Revoked:
        """End a lease as the set outcome says."""
        self.ended.append(command)
        self.held = {key: lease for key, lease in self.held.items() if lease != command.lease_id}
        return Revoked(outcome=self.outcome, detail="")

    def revoked(self) -> set[str]:
        """The leases that were to be ended."""
        return {command.lease_id for command in self.ended}
