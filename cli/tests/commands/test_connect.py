"""`styx connect`: an agent's client is told of Styx, once, and nothing else of its file changes."""

import json
import re
import tomllib
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from styx_cli.agent_clients import CLIENTS, NEEDED, over_http, over_pipes

SETTINGS = Path(__file__).parents[3] / "services/broker/styx_broker/templates/settings.html"
FILES = {"claude": ".mcp.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder that is the working folder too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    return tmp_path


def written(home: Path, client: str) -> Any:
    """Our entry, read back."""
    text = (home / FILES[client]).read_text()
    values = tomllib.loads(text) if client == "codex" else json.loads(text)
    return values[CLIENTS[client].section]["styx"]


@pytest.mark.parametrize("client", CLIENTS)
def test_it_is_shown_then_written_then_already_there(styx: Any, home: Path, client: str) -> None:
    shown = styx("connect", client, "--dry-run")
    assert shown.code == 0
    assert "+" in shown.out
    assert not (home / FILES[client]).exists()
    done = styx("connect", client, "--project", "shop")
    assert f"styx run --project shop -- {client}" in done.out
    assert written(home, client) == over_pipes(client)
    again = styx("connect", client, "--json").json
    assert (again["changed"], again["written"], again["diff"]) == (False, False, "")
    assert "nothing changes" in styx("connect", client, "--dry-run").out
    assert list((home / FILES[client]).parent.glob("*.styx")) == []


def test_what_the_bridge_reads_reaches_it(home: Path) -> None:
    assert over_pipes("codex")["env_vars"] == list(NEEDED)
    assert over_pipes("cursor")["env"] == {name: f"${{env:{name}}}" for name in NEEDED}
    assert over_pipes("claude", channel=True)["args"] == ["mcp", "--channel"]


@pytest.mark.parametrize("client", CLIENTS)
def test_over_http_it_names_the_address_and_no_secret(
    styx: Any, home: Path, broker: Any, client: str
) -> None:
    known = {"issuer": "https://styx.example"}
    broker.answers["GET /.well-known/openid-configuration"] = known
    assert "sign in" in styx("connect", client, "--http").out
    assert written(home, client) == over_http(client, "https://styx.example")
    words = ("--http", "--server", "https://b.example/mcp", "--token-env", "STYX_TOKEN")
    assert styx("connect", client, *words).code == 0
    assert written(home, client)["url"] == "https://b.example/mcp"
    assert "STYX_TOKEN" in json.dumps(written(home, client))


def test_the_file_keeps_its_mode_its_link_and_what_the_person_set(styx: Any, home: Path) -> None:
    real = home / "dotfiles.json"
    own = {"command": "old", "env": {"K": "FIXTURE-secret"}, "timeout": 9}
    other = {"headers": {"A": "FIXTURE-other"}}
    real.write_text(json.dumps({"mcpServers": {"a": other, "styx": own}}))
    real.chmod(0o600)
    (home / ".mcp.json").symlink_to(real)
    shown = styx("connect", "claude", "--dry-run").out
    assert "FIXTURE" not in shown
    assert '-      "command": "old"' in shown
    assert styx("connect", "claude").code == 0
    assert (home / ".mcp.json").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert json.loads(real.read_text())["mcpServers"] == {
        "a": other,
        "styx": {**over_pipes("claude"), "timeout": 9},
    }


@pytest.mark.parametrize(
    ("content", "said"),
    [(b'{\n"a" 1}', "line 2"), (b'{\n\n"\xff": 1}', "line 3"), (b'{"mcpServers": 7}', "no table")],
)
def test_a_file_that_cannot_be_read_is_named_and_left(
    styx: Any, home: Path, content: bytes, said: str
) -> None:
    file = home / ".mcp.json"
    file.write_bytes(content)
    done = styx("connect", "claude")
    assert done.code == 78
    assert str(file) in done.err
    assert said in done.err
    assert file.read_bytes() == content


def test_a_place_that_cannot_be_written_is_named(styx: Any, home: Path) -> None:
    (home / ".cursor").write_text("a file")
    done = styx("connect", "cursor")
    assert (done.code, ".cursor" in done.err) == (64, True)


def test_which_file_it_is(styx: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEX_HOME", str(home / "elsewhere"))
    file = styx("connect", "codex", "--dry-run", "--json").json["file"]
    assert file == str(home / "elsewhere/config.toml")
    monkeypatch.setenv("HOME", str(home / "me"))
    assert styx("connect", "cursor", "--user", "--json").json["file"].startswith(f"{home}/me/")
    refused = styx("connect", "claude", "--user")
    assert (refused.code, "claude mcp add" in refused.err) == (64, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("emacs",), "one of claude, codex, cursor"),
        (("codex", "--channel"), "only Claude Code"),
        (("claude", "--channel", "--http"), "not --http"),
        (("claude", "--token-env", "X"), "belong to --http"),
        (("claude", "--http", "--server", "ftp://x"), "https://host"),
        (("claude", "--http", "--token-env", "styx_FIXTURE-1"), "never the token itself"),
    ],
)
def test_what_does_not_fit_is_refused(
    styx: Any, home: Path, words: tuple[str, ...], said: str
) -> None:
    done = styx("connect", *words)
    assert done.code == 64
    assert said in done.err
    assert "FIXTURE" not in done.err
    assert list(home.iterdir()) == []


def test_a_channel_says_how_claude_is_started(styx: Any, home: Path) -> None:
    out = styx("connect", "claude", "--channel").out
    assert "claude --dangerously-load-development-channels server:styx" in out


def test_the_settings_page_shows_the_same() -> None:
    """Its lines are what `styx connect --http --token-env STYX_TOKEN` writes."""
    page = unescape(SETTINGS.read_text()).replace("{{ address }}", "https://styx.example")
    blocks = re.findall(r"<code>([^<]*mcp_?[sS]ervers[^<]*)</code>", page)
    found = [
        tomllib.loads(block)["mcp_servers"]
        if block.startswith("[")
        else json.loads(block)["mcpServers"]
        for block in blocks
    ]
    meant = [{"styx": over_http(c, "https://styx.example", "STYX_TOKEN")} for c in CLIENTS]
    assert found == meant
