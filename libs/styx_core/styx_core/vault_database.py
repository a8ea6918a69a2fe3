"""Database logins that OpenBao makes and ends: its database engine, as one service uses it.

The administrator's password goes in once and stays in the engine's configuration; nothing takes it
out again (OpenBao, "Database secrets engine"). Each login is a role of the database made for one
lease and ended with it; the engine's own role is written for that lease and removed at once, so
that a lease's life and statements are its own and nothing gathers.

A lease also ends with the token that asked for it, so no login outlives `LONGEST`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from styx_core.vault import Vault, VaultError, VaultUnavailable
from styx_core.vault_bootstrap import DATABASE_MOUNT, TOKEN_TTL

PREFIX = "adapters-"
"""Every name begins so: the policy of `adapters` reaches no other."""

LONGEST = timedelta(seconds=TOKEN_TTL // 4)
"""`Vault` replaces its token when a third of its life is left, so a lease has at least this."""

PLUGIN = "postgresql-database-plugin"


class NotMade(VaultError):
    """The database didn't run the statements that make a login, or can't be reached."""


@dataclass(frozen=True)
class Login:
    """A role of the database, and the lease that it ends with."""

    user: str
    password: str = field(repr=False)
    lease: str


async def connect(vault: Vault, name: str, url: str, user: str, password: str | None) -> None:
    """Log in as the administrator; keep the connection under `name` only if that works.

    `url` names `{{username}}` and `{{password}}`. Without a password the kept one is tried again.
    Raises `VaultRefused` when the database doesn't let us in, for whatever reason.
    """
    body = {
        "plugin_name": PLUGIN,
        "connection_url": url,
        "username": user,
        "allowed_roles": [f"{PREFIX}*"],
        "verify_connection": True,
        "username_template": "{{.RoleName}}-{{random 6}}",
        # The database then sees a verifier: no statement, and so no log of it, holds a password.
        "password_authentication": "scram-sha-256",
    }
    if password is not None:
        body["password"] = password
    await vault.post(f"{DATABASE_MOUNT}/config/{name}", body)


async def forget(vault: Vault, name: str) -> None:
    """Drop a connection and its password."""
    await vault.remove(f"{DATABASE_MOUNT}/config/{name}")


async def mint(
    vault: Vault,
    connection: str,
    name: str,
    life: timedelta,
    make: Sequence[str],
    end: Sequence[str],
) -> Login:
    """A login made by the statements `make` and ended by `end`, both naming `{{name}}`.

    Raises `NotMade`, and then nothing of it is left.
    """
    seconds = max(1, int(min(life, LONGEST).total_seconds()))
    role = f"{DATABASE_MOUNT}/roles/{name}"
    body = {
        "db_name": connection,
        "creation_statements": list(make),
        "revocation_statements": list(end),
        "default_ttl": seconds,
        "max_ttl": seconds,
    }
    await vault.post(role, body)
    try:
        answer = await vault.leased(f"{DATABASE_MOUNT}/creds/{name}")
    except VaultUnavailable as error:
        raise NotMade(error.args[0]) from None
    finally:
        await vault.remove(role)
    data = answer["data"]
    return Login(str(data["username"]), str(data["password"]), str(answer["lease_id"]))


async def end(vault: Vault, lease: str) -> None:
    """End a login now. Raises `VaultUnavailable`, and then OpenBao keeps trying by itself."""
    try:
        await vault.post(f"sys/leases/revoke/{lease}", {"sync": True})
    except VaultUnavailable:
        await vault.post(f"sys/leases/revoke/{lease}", {"sync": False})
        raise
