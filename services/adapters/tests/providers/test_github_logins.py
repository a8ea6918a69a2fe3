"""GitHub by a person's own: a fine-grained token, and gh's login in a made-up home."""

import contextlib
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from adapter_fixture import MemoryVault
from conformance import Case, Conformance, held, now
from github_case import Played, bearer, github_server, wanted
from styx_adapters.adapter import Deps
from styx_adapters.api import Api
from styx_adapters.fields import checked
from styx_adapters.github_api import host_of
from styx_adapters.local_login import LocalLogin
from styx_adapters.providers import github
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope


@pytest.fixture
def played() -> Iterator[Played]:
    with github_server() as made:
        yield made


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    made = Api(answer_seconds=0.5)
    yield made
    await made.close()


def token_case(played: Played, api: Api) -> Case:
    """A target that is connected by jane's token."""
    deps: Any = Deps(MemoryVault(), now, api)  # type: ignore[arg-type]
    return played.case(
        github.adapter(deps),
        method="token",
        config={"api": played.url},
        secret={"token": played.server.person("jane", "jane")},
        shortest=timedelta(0),
        refused={"secret": {"token": f"github_pat_FIXTURE{'1' * 30}"}},
        unkept=(),
        hands_on=True,
    )


def local_case(played: Played, api: Api, home: Path, **environ: str) -> Case:
    """A target that uses gh's login below `home`."""
    deps: Any = Deps(MemoryVault(), now, api, LocalLogin(home, environ))  # type: ignore[arg-type]
    return played.case(
        github.adapter(deps),
        method="cli",
        config={"api": played.url, "account": "jane"},
        secret={},
        shortest=timedelta(0),
        refused={"config": {"account": "somebody-else"}},
        unkept=(),
        hands_on=True,
        local_machine=True,
    )


def write_login(folder: Path, played: Played, **tokens: str) -> Path:
    """`hosts.yml` as gh 2.40 and later write it; the first account is the active one.

    An empty token lies in the keyring.
    """
    file = folder / "hosts.yml"
    lines = [f"{host_of(played.url)}:", "    users:"]
    for user, token in tokens.items():
        lines += [f"        {user}:"] + [f"            oauth_token: {token}"] * bool(token)
    first, active = next(iter(tokens.items()))
    lines += [f"    user: {first}"] + [f"    oauth_token: {active}"] * bool(active)
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    return file


class TestToken(Conformance):
    """A fine-grained token is handed on."""

    @pytest.fixture
    def case(self, played: Played, api: Api) -> Case:
        return token_case(played, api)


class TestLogin(Conformance):
    """So is gh's own."""

    @pytest.fixture
    def case(self, played: Played, api: Api, tmp_path: Path) -> Case:
        write_login(tmp_path / ".config/gh", played, jane=played.server.person("x", "jane", "gho_"))
        case = local_case(played, api, tmp_path)
        silent = host_of(played.silent)
        with (tmp_path / ".config/gh/hosts.yml").open("a") as file:
            file.write(f"{silent}:\n    user: jane\n    oauth_token: gho_FIXTURE{'0' * 30}\n")
        return case


async def test_a_token_that_was_ended_is_not_handed_on(played: Played, api: Api) -> None:
    case = token_case(played, api)
    to = await case.adapter.connect("token", new_id("tgt"), case.config, case.secret)
    assert to.label == f"jane at {host_of(played.url)}"
    minted = await case.adapter.issue(to.secret, to.config, wanted(Scope.READ))
    assert bearer(minted) == case.secret["token"]
    assert (minted.scoped, minted.revocable, minted.handle) == (False, "none", {})
    assert (await case.adapter.revoke(to.secret, to.config, {})).outcome == "none"
    played.server.tokens.clear()
    with pytest.raises(LoginExpired):
        await case.adapter.issue(to.secret, to.config, wanted(Scope.READ))


@pytest.mark.parametrize(
    "token", [f"ghp_FIXTURE{'0' * 30}", "github_pat_short", f"github_pat_{'0' * 30}\n", "x" * 40]
)
def test_only_a_fine_grained_token_is_taken(played: Played, token: str) -> None:
    with pytest.raises(Invalid, match="token: ") as told:
        checked(github.PROVIDER, "token", {"api": played.url}, {"token": token}, False)
    assert token not in told.value.detail


@pytest.mark.parametrize(
    ("status", "said", "failure"),
    [
        (401, {"message": "Bad credentials"}, LoginExpired),
        (403, {"message": "API rate limit exceeded"}, ProviderFailed),
        (429, {}, ProviderFailed),
        (500, {}, ProviderFailed),
        (200, b"<html>", ProviderFailed),
        (200, [], ProviderFailed),
        (200, {}, ProviderFailed),
        (200, {"login": "--option"}, ProviderFailed),
        (200, {"login": None}, ProviderFailed),
        (200, {"login": "mallory"}, LoginExpired),
    ],
    ids=str,
)
async def test_only_a_refusal_or_another_account_is_an_expired_login(
    played: Played, api: Api, status: int, said: Any, failure: type[Exception]
) -> None:
    case = token_case(played, api)
    to = await case.adapter.connect("token", new_id("tgt"), case.config, case.secret)
    played.server.instead["GET /user"] = status, said
    for attempt in (
        case.adapter.health(to.secret, to.config),
        case.adapter.issue(to.secret, to.config, wanted(Scope.READ)),
    ):
        with pytest.raises(failure):
            await attempt


async def test_only_the_name_is_kept_and_the_file_is_read_at_each_use(
    played: Played, api: Api, tmp_path: Path
) -> None:
    folder, server = tmp_path / ".config/gh", played.server
    file = write_login(folder, played, jane=server.person("one", "jane", "gho_"))
    before = file.read_bytes()
    case = local_case(played, api, tmp_path)
    state = case.state()
    shown = await case.connected(state, new_id("tgt"), {"api": played.url})
    stored = held(state)[shown.credential_ref]
    assert stored == {"account": "jane", "method": "cli"}
    assert shown.config["account"] == "jane"
    first = await case.adapter.issue(stored, shown.config, wanted())
    assert bearer(first).encode() in before
    assert file.read_bytes() == before
    write_login(folder, played, jane=server.person("two", "jane", "gho_"))
    second = await case.adapter.issue(stored, shown.config, wanted())
    assert bearer(second) != bearer(first)


async def test_an_account_stays_the_one_that_was_connected(
    played: Played, api: Api, tmp_path: Path
) -> None:
    folder, server = tmp_path / ".config/gh", played.server
    jane, bot = server.person("jane", "jane", "gho_"), server.person("bot", "acme-bot", "gho_")
    write_login(folder, played, **{"jane": jane, "acme-bot": bot})
    case = local_case(played, api, tmp_path)
    to = await case.adapter.connect("cli", new_id("tgt"), {"api": played.url}, {})
    write_login(folder, played, **{"acme-bot": bot, "jane": jane})  # `gh auth switch`
    assert bearer(await case.adapter.issue(to.secret, to.config, wanted())) == jane
    write_login(folder, played, **{"acme-bot": bot})  # `gh auth logout`
    with pytest.raises(LoginExpired):
        await case.adapter.issue(to.secret, to.config, wanted())
    write_login(folder, played, jane=bot)  # a file that lies
    with pytest.raises(LoginExpired, match="acme-bot's, not jane's"):
        await case.adapter.issue(to.secret, to.config, wanted())


@pytest.mark.parametrize(
    "content", [None, b"", b"\n# nothing\n", b"example.com:\n    user: jane\n"]
)
async def test_without_a_login_gh_is_logged_out(
    played: Played, api: Api, tmp_path: Path, content: bytes | None
) -> None:
    folder = tmp_path / ".config/gh"
    folder.mkdir(parents=True)
    if content is not None:
        (folder / "hosts.yml").write_bytes(content)
    case = local_case(played, api, tmp_path)
    with pytest.raises(LoginExpired, match="log"):
        await case.adapter.connect("cli", new_id("tgt"), case.config, {})
    assert played.server.calls == []
    (folder / "hosts.yml").unlink(missing_ok=True)
    (folder / "hosts.yml").mkdir()  # It can't be read: that is no logout.
    with pytest.raises(ProviderFailed):
        await case.adapter.connect("cli", new_id("tgt"), case.config, {})


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({}, ".config/gh"),
        ({"XDG_CONFIG_HOME": "{}/xdg"}, "xdg/gh"),
        ({"XDG_CONFIG_HOME": "{}/xdg", "GH_CONFIG_DIR": "{}/own"}, "own"),
        ({"GH_CONFIG_DIR": "relative"}, ".config/gh"),
    ],
)
async def test_the_login_is_where_gh_keeps_it(
    played: Played, api: Api, tmp_path: Path, environ: dict[str, str], folder: str
) -> None:
    write_login(tmp_path / folder, played, jane=played.server.person("x", "jane", "gho_"))
    at_home = {name: value.format(tmp_path) for name, value in environ.items()}
    case = local_case(played, api, tmp_path, **at_home)
    assert (await case.adapter.connect("cli", new_id("tgt"), case.config, {})).label


@pytest.mark.parametrize(
    ("api", "taken"),
    [
        ("https://api.github.com", True),
        ("https://ghe.example.com/api/v3", True),
        ("http://127.0.0.1:80/api/v3", True),
        ("http://api.github.com", False),
        ("http://127.0.0.1.example.com", False),
        ("http://ghe.example.com/api/v3", False),
    ],
)
def test_a_machines_own_login_never_goes_in_the_clear(api: str, taken: bool) -> None:
    with contextlib.nullcontext() if taken else pytest.raises(Invalid, match="api: "):
        checked(github.PROVIDER, "cli", {"api": api}, {}, True)


def test_a_login_on_another_machine_is_not_offered() -> None:
    with pytest.raises(Invalid, match="method: "):
        checked(github.PROVIDER, "cli", {}, {}, False)


GH = """#!/bin/sh
test "$GH_CONFIG_DIR" = "{config}" || exit 3
test -z "$GH_TOKEN$GITHUB_TOKEN" || exit 4
echo "$@" > "{config}/asked"
{answer}
"""


@pytest.mark.parametrize(
    ("account", "answer", "asked", "failure"),
    [
        ("jane", "echo {token}", "", None),
        ("acme-bot", "echo {token}", " --user acme-bot", None),
        ("jane", "echo 'no token' >&2; exit 1", "", LoginExpired),
        ("jane", "true", "", LoginExpired),
        ("jane", "echo '<garbage> {token}'", "", LoginExpired),
        ("jane", None, "", ProviderFailed),
    ],
)
async def test_a_token_in_the_keyring_is_asked_of_gh_itself(
    played: Played,
    api: Api,
    tmp_path: Path,
    account: str,
    answer: str | None,
    asked: str,
    failure: type[Exception] | None,
) -> None:
    config, token = tmp_path / "own", played.server.person("k", account, "gho_")
    write_login(config, played, **{"jane": "", "acme-bot": ""})
    if answer is not None:
        program = tmp_path / "gh"
        program.write_text(GH.format(config=config, answer=answer.format(token=token)))
        program.chmod(0o755)
    environ = {"PATH": f"{tmp_path}", "GH_CONFIG_DIR": str(config), "GH_TOKEN": "gho_FIXTURE"}
    case = local_case(played, api, tmp_path, **environ)
    to = {**case.config, "account": account}
    if failure is not None:
        with pytest.raises(failure) as told:
            await case.adapter.issue({"account": account}, to, wanted())
        assert "FIXTURE" not in str(told.value)
        return
    minted = await case.adapter.issue({"account": account}, to, wanted())
    assert bearer(minted) == token
    words = f"auth token --hostname {host_of(played.url)}{asked}"
    assert (config / "asked").read_text().strip() == words
