"""A project's Postgres as a target: logins made for one lease by OpenBao's database engine.

The administrator's password lives in that engine and nowhere else; Vault's entry holds names.
`held` targets give a reader only where the database itself finds that it can do no more than read
(`supabase_roles`); else reading is refused, with what to do. Writing and deleting are never called
scoped: both may read, and triggers and functions may do more. No scope adds DDL.

A revoke drops the role, ends its open sessions and fails new logins at once, so it is `hard`.
"""

from collections.abc import Mapping
from datetime import timedelta

from styx_core import vault_database
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope, Scopes
from styx_core.vault import VaultRefused, VaultUnavailable

from styx_adapters import postgres_probe, supabase_roles
from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want

HELD = "database"
LOGGED_OUT = "none: a database target has no access token"
"""Not a token's shape, so that the CLI refuses it instead of taking the person's own login."""

CONNECT_SECONDS = 3
TRIAL = timedelta(seconds=30)
READER = frozenset({Scope.READ})

NOT_MADE = (
    "method: the database makes no such login; its user must be allowed to create roles and to "
    "grant pg_read_all_data (PostgreSQL 14 or newer)"
)
NOT_HELD = (
    f"{NOT_MADE}, and nothing may let every login do more than read: functions that run with "
    "their owner's rights, tables, schemas or databases open to PUBLIC (the database's log names "
    "what it found). Close those, or connect by database-loose"
)


class DatabaseTargets:
    """Targets connected by the two database methods."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Give OpenBao the password, and make, try and end one reader."""
        trial = f"{vault_database.PREFIX}{new_id('lse')}"
        await self._log_in(trial, config, secret["password"])
        try:
            login = await self._mint(trial, config, trial, READER, TRIAL, held=method == HELD)
            await vault_database.end(self._deps.vault, login.lease)
        finally:
            await vault_database.forget(self._deps.vault, trial)
        connection = f"{vault_database.PREFIX}{target_id}"
        await self._log_in(connection, config, secret["password"])
        return Connected({"connection": connection}, dict(config), _label(config))

    async def health(self, secret: Secret, config: Config) -> str:
        """Log in again with the password that OpenBao keeps."""
        await self._log_in(secret["connection"], config, None)
        return _label(config)

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A login of the database for this lease."""
        now = self._deps.now()
        life = vault_database.LONGEST
        if want.until is not None:
            life = max(timedelta(seconds=1), min(life, want.until - now))
        held = secret["method"] == HELD
        name = f"{vault_database.PREFIX}{want.lease_id}"
        login = await self._mint(secret["connection"], config, name, want.scopes, life, held=held)
        env = {
            "PGHOST": config["host"],
            "PGPORT": config["port"],
            "PGDATABASE": config["database"],
            "PGSSLMODE": config["sslmode"],
            "PGUSER": login.user,
            "PGPASSWORD": login.password,
            "SUPABASE_ACCESS_TOKEN": LOGGED_OUT,
        }
        return Minted(
            secret={"env": env},
            expires_at=now + life,
            scoped=held and want.scopes == {Scope.READ},
            revocable="hard",
            handle={"lease": login.lease},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Drop the role and end its sessions."""
        try:
            await vault_database.end(self._deps.vault, handle["lease"])
        except VaultUnavailable:
            raise ProviderFailed(
                "the database did not drop the login; OpenBao tries again, and it lets nobody in "
                "after its end"
            ) from None
        return Ended("hard", "the login is dropped and its sessions are ended")

    async def _log_in(self, connection: str, config: Config, password: str | None) -> None:
        await _reached(config)
        host, user, database = config["host"], config["user"], config["database"]
        place = f"[{host}]" if ":" in host else host
        url = (
            f"postgresql://{{{{username}}}}:{{{{password}}}}@{place}:{config['port']}/{database}"
            f"?sslmode={config['sslmode']}&connect_timeout={CONNECT_SECONDS}"
        )
        try:
            await vault_database.connect(self._deps.vault, connection, url, user, password)
        except VaultRefused:
            raise LoginExpired(f"{host} refuses the login of {user} at {database}") from None

    async def _mint(
        self,
        connection: str,
        config: Config,
        name: str,
        scopes: Scopes,
        life: timedelta,
        *,
        held: bool,
    ) -> vault_database.Login:
        held = held and scopes <= READER
        make = supabase_roles.make(scopes, self._deps.now() + life, held=held)
        try:
            return await vault_database.mint(
                self._deps.vault, connection, name, life, [make], [supabase_roles.end(scopes)]
            )
        except vault_database.NotMade:
            await _reached(config)
            raise Invalid(NOT_HELD if held else NOT_MADE) from None


async def _reached(config: Config) -> None:
    await postgres_probe.asks_for_password(
        config["host"],
        int(config["port"]),
        config["user"],
        config["database"],
        config["sslmode"],
    )


def _label(config: Config) -> str:
    return f"{config['user']}@{config['host']}/{config['database']}"
