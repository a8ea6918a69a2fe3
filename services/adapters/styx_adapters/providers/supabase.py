"""Supabase: a project's Postgres, or an account by its access token or the CLI's own login.

`database` and `database-loose` mint a login of the project's Postgres for each lease and drop it
with it (`supabase_database`). `database` reads are scoped: a reader that could do more is not made.
`database-loose` is for databases where anyone may call functions that write, as many a project's
own are; nothing it issues is called scoped.

`token` and `cli` hand on the account's own access token, which may do all that the account may:
Supabase has no API that makes a narrower one, so never scoped, and nothing to revoke. `cli` reads
the token file of the CLI (2.117: `$SUPABASE_HOME/access-token`, else `~/.supabase/access-token`) at
each use. The CLI prefers the system's keyring ("Supabase CLI") and has no command that prints its
login, so a login there isn't readable: `SUPABASE_NO_KEYRING=1 supabase login` keeps it in the file.
"""

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.provider import Field, Method, Provider
from styx_core.scope import Scope
from styx_core.secret_shape import SecretShape

from styx_adapters.adapter import Config, Connected, Deps, Ended, Minted, Secret, Want
from styx_adapters.api import URL
from styx_adapters.commands.load import tool
from styx_adapters.supabase_database import HELD, DatabaseTargets

WHO = "Supabase"
ACCESS = r"sbp_(oauth_|v0_)?[0-9a-f]{40}"
HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9a-fA-F:]{2,39}"
PORT = r"[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]"
NAME = r"[A-Za-z_][A-Za-z0-9_]{0,62}"
LIFE = timedelta(hours=1)

_REF = Field("ref", "project ref", pattern=r"[a-z]{20}", required=False)
_API = Field("api", "API address", pattern=URL, default="https://api.supabase.com", required=False)
_DATABASE = (
    Field("host", "database's own host (not its pooler)", pattern=HOST),
    Field("port", "port", pattern=PORT, default="5432", required=False),
    Field("database", "database name", pattern=NAME, default="postgres", required=False),
    Field("user", "administrator", pattern=NAME, default="postgres", required=False),
    Field("password", "administrator's password", secret=True, pattern=r"[^\x00-\x1f\x7f]{1,256}"),
    Field("sslmode", "sslmode", pattern="disable|require|verify-full", default="require",
          required=False),
    _REF,
)  # fmt: skip

PROVIDER = Provider(
    id="supabase",
    label=WHO,
    tools=(tool("supabase"),),
    scopes=(Scope.READ, Scope.WRITE, Scope.DEPLOY, Scope.DELETE),
    env=("SUPABASE_ACCESS_TOKEN", "PGUSER", "PGPASSWORD"),
    strip=(
        "SUPABASE_API_URL", "SUPABASE_DASHBOARD_URL", "SUPABASE_PROJECT_HOST", "SUPABASE_HOME",
        "SUPABASE_PROJECT_ID", "SUPABASE_PROJECT_REF", "SUPABASE_WORKDIR", "SUPABASE_ENV",
        "SUPABASE_DB_PASSWORD", "SUPABASE_DB_URL", "SUPABASE_POSTGRES_URL",
        "SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_SERVICE_KEY", "SUPABASE_SECRET_KEY",
        "SUPABASE_SECRET_KEYS", "SUPABASE_AUTH_SERVICE_ROLE_KEY", "SUPABASE_AUTH_JWT_SECRET",
        "SUPABASE_CA_SKIP_VERIFY", "SUPABASE_INTERNAL_IMAGE_REGISTRY",
        # Another program in the CLI's place.
        "SUPABASE_CLI_BINARY_OVERRIDE", "SUPABASE_GO_BINARY",
        "PGHOSTADDR", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSYSCONFDIR", "PGOPTIONS",
        "PGSSLCERT", "PGSSLKEY", "PGSSLPASSWORD",
        "DATABASE_URL", "DIRECT_URL", "POSTGRES_URL", "POSTGRES_PRISMA_URL",
        "POSTGRES_URL_NON_POOLING", "POSTGRES_PASSWORD",
    ),
    quiet={
        # A profile file could name another API; a login's keyring holds other passwords.
        "SUPABASE_PROFILE": "supabase",
        "SUPABASE_NO_KEYRING": "1",
        "SUPABASE_NO_UPDATE_NOTIFIER": "1",
        "SUPABASE_TELEMETRY_DISABLED": "1",
    },
    shapes=(SecretShape("supabase-scoped", ("sbp_v0_",), "hex", 40),),
    methods=(
        Method(HELD, "The project's Postgres", _DATABASE, narrows=(Scope.READ,),
               revocable="hard"),
        Method("database-loose", "The project's Postgres, where anyone may call functions that "
               "write", _DATABASE, revocable="hard"),
        Method("token", "A personal access token",
               (Field("token", "access token", secret=True, pattern=ACCESS), _REF, _API)),
        Method("cli", "The login of this machine's supabase CLI", (_REF, _API), local=True),
    ),
)  # fmt: skip


class SupabaseAdapter:
    """The Management API for accounts, OpenBao's database engine for databases."""

    def __init__(self, deps: Deps) -> None:
        self._deps = deps
        self._databases = DatabaseTargets(deps)

    async def connect(
        self, method: str, target_id: str, config: Config, secret: Secret
    ) -> Connected:
        """Verify by logging in, or by listing the account's projects."""
        if "host" in config:
            return await self._databases.connect(method, target_id, config, secret)
        entry = {"account": PROVIDER.quiet["SUPABASE_PROFILE"]} if method == "cli" else dict(secret)
        label = await self.health(entry, config)
        return Connected(entry, dict(config), label)

    async def health(self, secret: Secret, config: Config) -> str:
        """The database and its administrator, or what the token reaches."""
        if "connection" in secret:
            return await self._databases.health(secret, config)
        listed = await self._deps.api.call(
            WHO, "GET", f"{config['api']}/v1/projects", token=self._token(secret)
        )
        refs = _refs(listed)
        wanted = config.get("ref")
        if wanted is None:
            return f"an account with {len(refs)} project{'' if len(refs) == 1 else 's'}"
        if wanted not in refs:
            raise Invalid(f"ref: this login reaches no project {wanted}")
        return f"project {wanted}"

    async def issue(self, secret: Secret, config: Config, want: Want) -> Minted:
        """A login of the database, or the account's own token."""
        # The CLI reads the project from the first; scripts for it often from the second.
        ref = config.get("ref")
        place = {"SUPABASE_PROJECT_ID": ref, "SUPABASE_PROJECT_REF": ref} if ref else {}
        if "connection" in secret:
            minted = await self._databases.issue(secret, config, want)
            minted.secret["env"].update(place)
            return minted
        until = want.until
        return Minted(
            secret={"env": {"SUPABASE_ACCESS_TOKEN": self._token(secret), **place}},
            expires_at=until if until is not None else self._deps.now() + LIFE,
            scoped=False,
            revocable="none",
            handle={},
        )

    async def revoke(self, secret: Secret, config: Config, handle: Mapping[str, str]) -> Ended:
        """Drop the database's login; an account's own token stays as it is."""
        if "lease" in handle:
            return await self._databases.revoke(secret, config, handle)
        return Ended("none", "the account's own access token was handed on; it stays valid")

    def _token(self, secret: Secret) -> str:
        if "token" in secret:
            return str(secret["token"])
        local = self._deps.local()
        store = local.folder("SUPABASE_HOME", ".supabase") / "access-token"
        try:
            token = local.read(WHO, store).strip()
        except LoginExpired:
            token = ""
        if not re.fullmatch(ACCESS, token):
            raise LoginExpired(
                "the supabase CLI has no login in its token file on this machine (one in the "
                "system's keyring can't be read); run SUPABASE_NO_KEYRING=1 supabase login"
            )
        return token


def _refs(listed: Any) -> list[str]:
    """The projects' refs, as `GET /v1/projects` lists them."""
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ProviderFailed(f"{WHO} answered in a shape that its documentation lacks")
    return [str(each.get("ref") or each.get("id")) for each in listed]


def adapter(deps: Deps) -> SupabaseAdapter:
    """The provider's code, on these edges."""
    return SupabaseAdapter(deps)
