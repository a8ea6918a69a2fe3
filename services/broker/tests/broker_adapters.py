"""An `adapters` for `broker`'s tests, and what it shares with the `grants` beside it.

Both answer on the bus in memory and refuse what the real ones refuse. Credentials are really
sealed, to the key that came with the call. `heard` holds every command that arrived.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from styx_adapters.commands.load import tool
from styx_adapters.providers.aws import PROVIDER as AWS
from styx_adapters.providers.ssh import PROVIDER as SSH
from styx_core import catalog
from styx_core.contract import adapters as a
from styx_core.contract import adapters_notices as n
from styx_core.contract import grants as g
from styx_core.contract.base import COMMANDS, Command, Done, Message, snake
from styx_core.contract.grants_people import ListPeople
from styx_core.errors import Invalid, StyxError
from styx_core.provider import Provider
from styx_core.seal import OpeningKey, WontOpen, connect_info, seal, use_info
from styx_core.testing import MemoryBus

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECRET = "FIXTURE-session"
KEY = OpeningKey.make()
CA = (
    Ed25519PrivateKey.generate()
    .public_key()
    .public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    .decode()
)
ENTRIES: dict[str, bytes] = {}
HUB = Provider("hub", "a host of code", (tool("gh"),), (), AWS.scopes, env=("GH_TOKEN",))
Answering = Callable[[Any], Awaitable[Message]]


class Played:
    """A service that answers whatever it has a method for, and keeps what it heard.

    But for what the broker asks by itself every few seconds, whoever calls it.
    """

    name: str

    def __init__(self, server: MemoryBus) -> None:
        self.bus = server.as_service(self.name)
        self.heard: list[Command[Any]] = []
        self.fails: dict[type[Any], StyxError] = {}
        self.reset()

    def reset(self) -> None:
        """Nothing heard, nothing fails."""
        self.heard.clear()
        self.fails.clear()

    async def serve(self) -> None:
        """Begin to answer."""
        kinds = [k for k in COMMANDS.values() if k.owner == self.name]
        found = {k: getattr(self, snake(k.__name__), None) for k in kinds}
        await self.bus.serve(self.name, {k: self._keep(f) for k, f in found.items() if f})

    def got(self, kind: type[Any]) -> list[Any]:
        """The commands of one kind, in their order."""
        return [command for command in self.heard if isinstance(command, kind)]

    def _keep(self, method: Answering) -> Answering:
        async def keeping(command: Command[Any]) -> Message:
            if not isinstance(command, ListPeople):
                self.heard.append(command)
            if type(command) in self.fails:
                raise self.fails[type(command)]
            return await method(command)

        return keeping


class PlayedAdapters(Played):
    """Seals for real; `meant_for` puts another call's id into the seal."""

    name = "adapters"

    def __init__(self, server: MemoryBus) -> None:
        super().__init__(server)
        self.key, self._server = KEY, server

    def reset(self) -> None:
        """Each box is for its own call."""
        super().reset()
        self.meant_for = ""

    async def publish(self) -> None:
        """The catalog: the real declarations, and one more that mints. Written out once."""
        if not ENTRIES:
            public = {"ssh_ca": CA, "jwk": '{"kty":"RSA","n":"FIXTURE"}'}
            await catalog.publish(self.bus, (AWS, SSH, HUB), {}, self.key.public, public)
            ENTRIES.update(self._server.entries)
        self._server.entries.update(ENTRIES)

    async def issue(self, command: a.Issue) -> a.Issued:
        """A session of an hour."""
        secret = {"env": {"AWS_SESSION_TOKEN": SECRET}}
        if command.public_key:
            secret = {"certificate": "ssh-ed25519-cert-v01@openssh.com FIXTURE"}  # type: ignore[dict-item]
        info = use_info(command.grant_id, self.meant_for or command.exec_id)
        sealed = g.Sealed(
            lease_id=command.lease_id,
            kind="env",
            box=seal(secret, command.edge_key, info),
            expires_at=START + timedelta(hours=1),
            scoped=True,
            revocable="hard",
        )
        return a.Issued(sealed=sealed, fresh=True, handle={})

    async def connect(self, command: a.Connect) -> a.Connection:
        """Open the box; what no provider declares is refused by its name."""
        if command.provider not in ("aws", "ssh"):
            raise Invalid(f"provider: no provider {command.provider!r}")
        try:
            self.key.open(command.box or "", connect_info(command.target_id))
        except WontOpen:
            raise Invalid("box: it does not open; seal the secret for this target") from None
        ref = f"styx/creds/{command.provider}/{command.target_id}"
        return a.Connection(credential_ref=ref, config=command.config, label="an account")

    async def keep_channel(self, command: n.KeepChannel) -> n.ChannelKept:
        """Open the box."""
        try:
            self.key.open(command.box, connect_info(command.channel_id))
        except WontOpen:
            raise Invalid("box: it does not open; seal it for this channel") from None
        return n.ChannelKept(label="played")

    async def drop_channel(self, _command: n.DropChannel) -> Done:
        return Done()

    async def tell(self, _command: n.Tell) -> Done:
        return Done()
