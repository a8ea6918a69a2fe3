"""The commands about telling people: keep a channel, drop it, send over it."""

from styx_core.contract.adapters_notices import ChannelKept, DropChannel, KeepChannel, Tell
from styx_core.contract.base import Done
from styx_core.errors import Invalid
from styx_core.seal import WontOpen, connect_info
from styx_core.vault import VaultError

from styx_adapters import channels
from styx_adapters.custody import plain
from styx_adapters.handlers import State


def _ref(channel_id: str) -> str:
    return f"creds/channel/{channel_id}"


async def keep_channel(command: KeepChannel, state: State) -> ChannelKept:
    """Open the box, check the address, store it in Vault, answer what may be shown."""
    try:
        secret = state.key.open(command.box, connect_info(command.channel_id))
    except WontOpen as error:
        raise Invalid(f"box: {error}; read the catalog again and seal anew") from None
    label = channels.checked({name: str(value) for name, value in secret.items()})
    try:
        await state.vault.write(_ref(command.channel_id), secret)
    except VaultError as error:
        raise plain(error) from error
    return ChannelKept(label=label)


async def drop_channel(command: DropChannel, state: State) -> Done:
    """Delete it from Vault."""
    try:
        await state.vault.delete(_ref(command.channel_id))
    except VaultError as error:
        raise plain(error) from error
    return Done()


async def tell(command: Tell, state: State) -> Done:
    """Send a notice over a channel."""
    try:
        secret = await state.vault.read(_ref(command.channel_id))
    except VaultError as error:
        raise plain(error) from error
    await channels.send(secret, command.notice, state.now())
    return Done()
