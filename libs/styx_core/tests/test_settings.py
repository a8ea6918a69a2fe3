"""Settings: one variable or file each; a wrong one is named, and no secret shows."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from styx_core.settings import Settings

SEED, SECRET_ID = "SUAFIXTURESEED", "FIXTURE-secret-id"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of this machine's own."""
    for name in (*Settings.model_fields, "secrets_dir"):
        monkeypatch.delenv(f"STYX_{name.upper()}", raising=False)


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files, as an orchestrator mounts one."""
    monkeypatch.setenv("STYX_SECRETS_DIR", str(tmp_path))
    return tmp_path


def test_every_setting_is_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STYX_NATS_URL", "nats://bus:4222")
    monkeypatch.setenv("STYX_HTTP_PORT", "4100")
    monkeypatch.setenv("STYX_WAIT_SECONDS", "12.5")
    monkeypatch.setenv("STYX_LOCAL_ENVIRON", '{"HOME": "/home/dev"}')
    monkeypatch.setenv("STYX_OF_ANOTHER_PROGRAM", "ignored")
    settings = Settings()
    assert (settings.nats_url, settings.http_port) == ("nats://bus:4222", 4100)
    assert (settings.wait_seconds, settings.local_environ) == (12.5, {"HOME": "/home/dev"})


def test_what_was_not_set_only_reaches_this_machine() -> None:
    settings = Settings()
    assert settings.http_host == "127.0.0.1"
    assert "//127.0.0.1:" in settings.nats_url
    assert "//127.0.0.1:" in settings.vault_url
    assert settings.nats_seed.get_secret_value() == ""


@pytest.mark.parametrize("name", ["styx_nats_seed", "STYX_NATS_SEED"])
def test_a_secret_comes_from_a_file(secrets: Path, name: str) -> None:
    (secrets / name).write_text(f"{SEED}\n")
    (secrets / "styx_vault_secret_id").write_text(SECRET_ID)
    settings = Settings()
    assert settings.nats_seed.get_secret_value() == SEED, "without the line's end"
    assert settings.vault_secret_id.get_secret_value() == SECRET_ID


def test_a_secret_comes_from_files_as_kubernetes_mounts_them(secrets: Path) -> None:
    (secrets / "..first").mkdir()
    (secrets / "..first" / "styx_nats_seed").write_text(SEED)
    (secrets / "..data").symlink_to("..first")
    (secrets / "styx_nats_seed").symlink_to("..data/styx_nats_seed")
    assert Settings().nats_seed.get_secret_value() == SEED


def test_a_variable_goes_before_a_file_and_what_is_given_before_both(
    secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secrets / "styx_database_url").write_text("sqlite:///file.db")
    assert Settings().database_url == "sqlite:///file.db"
    monkeypatch.setenv("STYX_DATABASE_URL", "sqlite:///variable.db")
    assert Settings().database_url == "sqlite:///variable.db"
    assert Settings(database_url="sqlite:///given.db").database_url == "sqlite:///given.db"


def test_a_folder_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STYX_SECRETS_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="STYX_SECRETS_DIR names no folder: .*nowhere"):
        Settings()


@pytest.mark.parametrize("name", ["http_port", "trace_sample", "wait_seconds", "calls_per_minute"])
def test_a_value_of_the_wrong_kind_is_named_and_not_shown(
    name: str, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"STYX_{name.upper()}", "FIXTURE-wrong")
    with pytest.raises(ValidationError, match=name) as told:
        Settings()
    assert "FIXTURE" not in str(told.value)
    monkeypatch.delenv(f"STYX_{name.upper()}")
    (secrets / f"styx_{name}").write_text("FIXTURE-wrong")
    with pytest.raises(ValidationError, match=name) as told:
        Settings()
    assert "FIXTURE" not in str(told.value)


def test_no_secret_shows_when_settings_do(secrets: Path) -> None:
    (secrets / "styx_nats_seed").write_text(SEED)
    (secrets / "styx_vault_secret_id").write_text(SECRET_ID)
    (secrets / "styx_database_url").write_text("postgresql+psycopg://me:FIXTURE-pw@db/styx")
    settings = Settings()
    assert settings.database_url.endswith("FIXTURE-pw@db/styx")
    for shown in (repr(settings), str(settings), f"{settings.model_dump()['nats_seed']}"):
        assert "FIXTURE" not in shown


def test_settings_stay_as_they_were_read() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().http_port = 1  # type: ignore[misc]
