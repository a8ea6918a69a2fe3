"""Settings that every service has: one `STYX_…` variable each, read once in `__main__`."""

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

SECRETS_DIR = "STYX_SECRETS_DIR"


def web_url(public_url: str) -> str:
    """Where people's browsers go: by name, since passkeys are never of a bare address."""
    where = urlsplit(public_url)
    if where.hostname not in ("127.0.0.1", "::1"):
        return public_url
    port = f":{where.port}" if where.port else ""
    return f"{where.scheme}://localhost{port}"


class Settings(BaseSettings):
    """How one service reaches the others.

    Any of them can come from a file instead, named like its variable (`styx_nats_seed`), in the
    folder that `STYX_SECRETS_DIR` names: an environment is inherited, and shown by too many tools.
    Raises `ValueError` that names the variable, or the folder that isn't there, and no value.
    """

    model_config = SettingsConfigDict(
        env_prefix="STYX_", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    nats_url: str = "nats://127.0.0.1:4222"
    nats_seed: SecretStr = SecretStr("")
    database_url: str = Field("", repr=False)
    """May hold a password. SQLAlchemy form: `sqlite:///…` or `postgresql+psycopg://…`."""
    schema_seconds: float = 60.0
    """How long a service that starts waits for `migrate`, when its database is older."""
    vault_url: str = "http://127.0.0.1:8200"
    vault_role_id: str = ""
    vault_secret_id: SecretStr = SecretStr("")
    http_host: str = "127.0.0.1"
    http_port: int = 0
    public_url: str = ""
    """What people and agents type; also the links in messages."""
    oidc_issuer: str = ""
    """An identity provider by which known people may sign in; empty for passkeys alone."""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_claim: str = "email"
    """Which claim is a person's name here; an address must be verified."""
    log_level: str = "INFO"
    otlp_endpoint: str | None = None
    trace_sample: float = 1.0
    wait_seconds: float = 300.0
    """Longest that a wrapped command is held for a person (the gateway holds at most 240)."""
    calls_per_minute: int = 1200
    """Most wrapped calls of one task in a minute."""
    local_environ: dict[str, str] | None = None
    """HOME, PATH and the like of the developer on whose own machine adapters run, so that a CLI's
    login there may be used; None where they run elsewhere."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """What was given, then variables, then files."""
        folder = os.environ.get(SECRETS_DIR)
        if folder is None:
            return init_settings, env_settings
        if not Path(folder).is_dir():
            raise ValueError(f"{SECRETS_DIR} names no folder: {folder}")
        return init_settings, env_settings, SecretsSettingsSource(settings_cls, folder)


class MigrateSettings(Settings):
    """Where the databases are that `python -m styx_core.migrate` migrates, all in one run."""

    database_url_audit: str = Field("", repr=False)
    database_url_broker: str = Field("", repr=False)
    database_url_grants: str = Field("", repr=False)

    def urls(self, services: Sequence[str]) -> dict[str, str]:
        """A URL for each. Raises `ValueError` that names the variable which isn't set."""
        alone = self.database_url if len(services) == 1 else ""
        urls = {name: getattr(self, f"database_url_{name}", "") or alone for name in services}
        unset = [f"STYX_DATABASE_URL_{name.upper()}" for name, url in urls.items() if not url]
        if unset:
            raise ValueError(f"{', '.join(unset)} isn't set: where that database is")
        return urls
