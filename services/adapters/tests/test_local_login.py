"""A CLI's own login on this machine: read at each use, asked without a shell, never quoted."""

import re
from pathlib import Path

import pytest
from styx_adapters import local_login
from styx_adapters.local_login import ACCOUNT, LocalLogin
from styx_core.errors import LoginExpired, ProviderFailed

SECRET = "FIXTURE-token-of-a-person"


def program(folder: Path, text: str) -> None:
    (folder / "acme").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "acme").chmod(0o755)


@pytest.fixture
def login(tmp_path: Path) -> LocalLogin:
    return LocalLogin(tmp_path, {"PATH": f"{tmp_path}:/bin:/usr/bin", "OTHER_TOKEN": SECRET})


def test_a_store_is_read_anew_each_time(login: LocalLogin, tmp_path: Path) -> None:
    store = tmp_path / "token"
    for text in ("one", "two"):
        store.write_text(text)
        assert login.read("Acme", tmp_path / "nowhere", store) == text
    store.unlink()
    with pytest.raises(LoginExpired, match="Acme is logged out"):
        login.read("Acme", store)


def test_a_store_that_cannot_be_read_is_not_an_expired_login(
    login: LocalLogin, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary").write_bytes(b"\xff\xfe" + SECRET.encode())
    for place in ("folder", "binary"):
        with pytest.raises(ProviderFailed) as told:
            login.read("Acme", tmp_path / place)
        assert SECRET not in told.value.detail


async def test_a_cli_is_asked_with_nothing_but_its_path_and_home(
    login: LocalLogin, tmp_path: Path
) -> None:
    program(tmp_path, 'echo "$HOME|$OTHER_TOKEN|$1"')
    assert await login.ask("Acme", ("acme", "; id")) == f"{tmp_path}||; id"
    assert await login.ask("Acme", ("acme", ""), ("OTHER_TOKEN",)) == f"{tmp_path}|{SECRET}|"


@pytest.mark.parametrize("text", [f"echo {SECRET} >&2; exit 1", "exit 0", f"echo {SECRET}; exit 3"])
async def test_a_no_is_an_expired_login_and_its_words_stay(
    login: LocalLogin, tmp_path: Path, text: str
) -> None:
    program(tmp_path, text)
    with pytest.raises(LoginExpired) as told:
        await login.ask("Acme", ("acme",))
    assert SECRET not in told.value.detail


async def test_one_that_is_missing_or_hangs_is_not(
    login: LocalLogin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProviderFailed, match="not installed"):
        await login.ask("Acme", ("acme",))
    monkeypatch.setattr(local_login, "RUN_SECONDS", 0.2)
    program(tmp_path, "exec sleep 60")
    with pytest.raises(ProviderFailed, match="took over"):
        await login.ask("Acme", ("acme",))


def test_folders_and_files_are_where_the_persons_variables_say(tmp_path: Path) -> None:
    login = LocalLogin(tmp_path, {"XDG_CONFIG_HOME": "/etc/x", "AWS_CONFIG_FILE": "rel", "A": "/f"})
    assert login.folder("XDG_CONFIG_HOME", ".config") == Path("/etc/x")
    assert login.folder("XDG_DATA_HOME", ".local/share") == tmp_path / ".local/share"
    assert login.file("AWS_CONFIG_FILE", tmp_path / "c") == tmp_path / "c"
    assert login.file("A", tmp_path) == Path("/f")


@pytest.mark.parametrize(
    ("name", "fine"),
    [
        ("me@example.com", True),
        ("a", True),
        ("default_1.x+y", True),
        ("-x", False),
        ("a b", False),
        ("a/b", False),
        ("a\n", False),
        ("", False),
        ("a.", False),
    ],
)
def test_an_account_is_a_plain_word(name: str, fine: bool) -> None:
    assert bool(re.fullmatch(ACCOUNT, name)) is fine
