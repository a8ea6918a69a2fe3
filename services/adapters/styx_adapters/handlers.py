"""The commands of `adapters`: connect, issue, revoke, health. Every credential is sealed here."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from styx_core.contract.adapters import (
    CheckHealth,
    Connect,
    Connection,
    Issue,
    Issued,
    Revoked,
    RevokeLease,
    SignChallenge,
)
from styx_core.contract.grants import Sealed
from styx_core.contract.values import HealthAnswer, Signature
from styx_core.errors import Invalid, LoginExpired, ProviderFailed, StyxError, Unavailable
from styx_core.seal import OpeningKey, WontOpen, connect_info, seal, use_info
from styx_core.vault import Vault, VaultError

from styx_adapters.adapter import Installed, Minted, Secret, Signer, Want
from styx_adapters.custody import credential_ref, plain
from styx_adapters.fields import checked
from styx_adapters.leases import Leases


@dataclass
class State:
    """What the handlers work with."""

    vault: Vault
    installed: dict[str, Installed]
    disabled: dict[str, str]
    key: OpeningKey
    leases: Leases
    local_machine: bool
    now: Callable[[], datetime]

    def find(self, provider: str) -> Installed:
        """A provider that runs. Raises `Invalid` or, for a disabled one, `Unavailable`."""
        if provider in self.installed:
            return self.installed[provider]
        if provider in self.disabled:
            raise Unavailable(f"the provider {provider} is disabled: {self.disabled[provider]}")
        raise Invalid(f"provider: no provider {provider[:64]!r} is installed")


async def connect(command: Connect, state: State) -> Connection:
    """Open the box, verify with the provider, store in Vault, answer what may be shown."""
    found = state.find(command.provider)
    secret = {}
    if command.box is not None:
        try:
            secret = state.key.open(command.box, connect_info(command.target_id))
        except WontOpen as error:
            raise Invalid(f"box: {error}; read the catalog again and seal anew") from None
    config, secret = checked(
        found.provider, command.method, command.config, secret, state.local_machine
    )
    ref = credential_ref(command.provider, command.target_id)
    named = {"method": command.method}
    try:
        connected = await found.adapter.connect(command.method, command.target_id, config, secret)
        await state.vault.write(ref, {**connected.secret, **named})
    except VaultError as error:
        raise plain(error) from error
    return Connection(
        credential_ref=ref, config={**connected.config, **named}, label=connected.label
    )


async def issue(command: Issue, state: State) -> Issued:
    """Mint, or find the live lease again, and seal it to the edge that asked."""
    held = state.leases.find(command)
    if held is None:
        async with state.leases.turn(command):
            held = state.leases.find(command)
            if held is None:
                return await _minted(command, state)
    return _sealed(command, *held, fresh=False)


async def _minted(command: Issue, state: State) -> Issued:
    found = state.find(command.provider)
    _box(command, {})  # what can't be sealed shouldn't be minted
    want = Want(
        lease_id=command.lease_id,
        grant_id=command.grant_id,
        scopes=frozenset(command.scopes),
        until=command.expires_at,
        surface=command.surface,
        operation=command.operation,
        once=command.once,
        command=command.command,
        public_key=command.public_key,
    )
    try:
        secret = await state.vault.read(command.credential_ref)
        minted = await found.adapter.issue(secret, command.config, want)
    except VaultError as error:
        raise plain(error) from error
    state.leases.keep(command, minted)
    return _sealed(command, command.lease_id, minted, fresh=True)


def _sealed(command: Issue, lease_id: str, minted: Minted, *, fresh: bool) -> Issued:
    return Issued(
        sealed=Sealed(
            lease_id=lease_id,
            kind="env" if minted.secret.keys() == {"env"} else "ssh-agent",
            box=_box(command, minted.secret),
            expires_at=minted.expires_at,
            scoped=minted.scoped,
            revocable=minted.revocable,
        ),
        fresh=fresh,
        handle=minted.handle,
    )


def _box(command: Issue, secret: Secret) -> str:
    try:
        return seal(secret, command.edge_key, use_info(command.grant_id, command.exec_id))
    except ValueError:
        raise Invalid("edge_key: not a sealing key") from None


async def revoke_lease(command: RevokeLease, state: State) -> Revoked:
    """End a lease at its provider, and here at once whatever the provider says."""
    state.leases.forget(command.lease_id)
    found = state.find(command.provider)
    try:
        secret = await state.vault.read(command.credential_ref)
        ended = await found.adapter.revoke(secret, command.config, command.handle)
    except VaultError as error:
        raise plain(error) from error
    except (LoginExpired, ProviderFailed) as error:
        return Revoked(outcome="failed", detail=error.detail)
    return Revoked(outcome=ended.outcome, detail=ended.detail)


async def sign_challenge(command: SignChallenge, state: State) -> Signature:
    """Have a stored key sign one login; only a provider with such keys can."""
    found = state.find(command.provider)
    if not isinstance(found.adapter, Signer):
        raise Invalid(f"provider: {command.provider} has no keys that sign")
    try:
        secret = await state.vault.read(command.credential_ref)
        data = base64.b64decode(command.data)
        made = await found.adapter.sign(secret, command.config, data)
    except VaultError as error:
        raise plain(error) from error
    except binascii.Error:
        raise Invalid("data: not base64") from None
    return Signature(signature=base64.b64encode(made).decode())


async def check_health(command: CheckHealth, state: State) -> HealthAnswer:
    """Try the target's own credential; only a refusal of it counts as expired."""
    found = state.find(command.provider)
    try:
        secret = await state.vault.read(command.credential_ref)
        return HealthAnswer(
            ok=True, expired=False, detail=await found.adapter.health(secret, command.config)
        )
    except VaultError as error:
        raise plain(error) from error
    except LoginExpired as error:
        return HealthAnswer(ok=False, expired=True, detail=error.detail)
    except StyxError as error:
        return HealthAnswer(ok=False, expired=False, detail=error.detail)
