"""Settings that every service has: one `STYX_…` variable each, read once in `__main__`."""

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """How one service reaches the others. Secrets can come from files in `STYX_SECRETS_DIR`."""

    model_config = SettingsConfigDict(env_prefix="STYX_", extra="ignore", frozen=True)

    nats_url: str = "nats://127.0.0.1:4222"
    nats_seed: SecretStr = SecretStr("")
    database_url: str = ""
    """SQLAlchemy form: `sqlite:///…` or `postgresql+psycopg://…`."""
    vault_url: str = "http://127.0.0.1:8200"
    vault_role_id: str = ""
    vault_secret_id: SecretStr = SecretStr("")
    http_host: str = "127.0.0.1"
    http_port: int = 0
    public_url: str = ""
    """What people and agents type; also the links in messages."""
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
