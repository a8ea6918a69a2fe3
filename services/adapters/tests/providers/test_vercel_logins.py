"""Vercel by the CLI's own login on this machine, with its real file layout in a made-up home."""

import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from adapter_fixture import MemoryVault
from conformance import Case, Conformance, held, now
from styx_adapters.adapter import Deps
from styx_adapters.api import Api
from styx_adapters.fields import checked
from styx_adapters.providers import vercel
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from vercel_case import Played, vercel_account, wanted
from vercel_server import ACME, WEB

LINUX = ".local/share/com.vercel.cli"
MAC = "Library/Application Support/com.vercel.cli"


@pytest.fixture
def played() -> Iterator[Played]:
    with vercel_account() as made:
        yield made


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    made = Api(answer_seconds=0.3)
    yield made
    await made.close()


def write_login(home: Path, folder: str = LINUX, **said: Any) -> Path:
    """The file as release 58.10.0 of the CLI writes it."""
    note = {"// Note": "This is your Vercel credentials file. DO NOT SHARE!"}
    file = home / folder / "auth.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**note, **said}, indent=2))
    return file


def session(played: Played, name: str = "session", seconds: float = 7200) -> dict[str, Any]:
    """What a login by OAuth leaves behind."""
    ends = now() + timedelta(seconds=seconds)
    token = played.account.add(name, oauth=True, ends=ends.timestamp() * 1000)
    expires = int(ends.timestamp())
    return {"token": token, "refreshToken": "FIXTURE-refresh-token", "expiresAt": expires}


@pytest.fixture
def case(played: Played, api: Api, tmp_path: Path) -> Case:
    """A home with a login by OAuth, and a target for its team."""
    write_login(tmp_path, **session(played, seconds=9 * 3600))
    return played.local(tmp_path, api, team="acme")


class TestLogin(Conformance):
    """A login by OAuth makes no tokens: it is handed on."""


async def test_only_the_name_is_kept_and_the_file_is_read_at_each_use(
    case: Case, played: Played, tmp_path: Path
) -> None:
    file = tmp_path / LINUX / "auth.json"
    before = file.read_bytes()
    state = case.state()
    shown = await case.connected(state, new_id("tgt"))
    assert held(state)[shown.credential_ref] == {"account": "jane", "method": "cli"}
    stored = held(state)[shown.credential_ref]
    minted = await case.adapter.issue(stored, shown.config, wanted())
    assert minted.secret["env"]["VERCEL_TOKEN"].encode() in before
    assert file.read_bytes() == before
    renewed = session(played, "renewed")
    write_login(tmp_path, **renewed)
    minted = await case.adapter.issue(stored, shown.config, wanted())
    assert minted.secret["env"] == {"VERCEL_TOKEN": renewed["token"]}
    file.unlink()
    for doing in (
        case.adapter.issue(stored, shown.config, wanted()),
        case.adapter.health(stored, shown.config),
    ):
        with pytest.raises(LoginExpired, match="logged out"):
            await doing


async def test_without_a_name_the_login_s_own_is_kept(case: Case, played: Played) -> None:
    config = {"api": played.url}
    connected = await case.adapter.connect("cli", new_id("tgt"), config, {})
    assert connected.secret == {"account": "jane"}
    assert connected.config["account"] == "jane"


async def test_a_login_handed_on_ends_when_the_first_of_both_does(
    case: Case, played: Played, tmp_path: Path
) -> None:
    login = session(played, seconds=600)
    write_login(tmp_path, **login)
    minted = await case.adapter.issue({}, case.config, wanted())
    assert minted.expires_at.timestamp() == login["expiresAt"]
    assert (minted.scoped, minted.revocable) == (False, "none")
    soon = now() + timedelta(seconds=60)
    minted = await case.adapter.issue({}, case.config, wanted(until=soon))
    assert minted.expires_at == soon
    assert (await case.adapter.revoke({}, case.config, minted.handle)).outcome == "none"


async def test_an_old_login_that_may_make_tokens_stays_at_home(
    case: Case, played: Played, tmp_path: Path
) -> None:
    token = played.account.add("classic")
    write_login(tmp_path, token=token)
    minted = await case.adapter.issue({}, {**case.config, "project": WEB}, wanted())
    made = minted.secret["env"]["VERCEL_TOKEN"]
    assert made != token
    assert played.account.tokens[made].project == WEB
    assert (await case.adapter.revoke({}, case.config, minted.handle)).outcome == "hard"
    assert made not in played.account.tokens
    assert token in played.account.tokens


async def test_a_machine_logged_in_as_somebody_else_is_told(case: Case, played: Played) -> None:
    connected = await case.adapter.connect("cli", new_id("tgt"), case.config, {})
    played.account.username = "john"
    for doing in (
        case.adapter.issue(connected.secret, connected.config, wanted()),
        case.adapter.health(connected.secret, connected.config),
        case.adapter.connect("cli", new_id("tgt"), connected.config, {}),
    ):
        with pytest.raises(LoginExpired, match="is john's, not jane's"):
            await doing


async def test_a_login_that_cannot_tell_whose_it_is_is_refused(
    case: Case, played: Played, tmp_path: Path
) -> None:
    write_login(tmp_path, token=played.account.add("narrow", team=ACME, project=WEB))
    place = {"api": played.url, "project": WEB}
    for config in (place, {**place, "account": "jane"}):
        with pytest.raises(LoginExpired):
            await case.adapter.connect("cli", new_id("tgt"), config, {})
    with pytest.raises(LoginExpired):
        await case.adapter.issue({}, {**place, "account": "jane"}, wanted())


async def test_a_login_that_ran_out_is_not_sent_anywhere(
    case: Case, played: Played, tmp_path: Path
) -> None:
    write_login(tmp_path, **session(played, seconds=-1))
    with pytest.raises(LoginExpired, match="ran out") as told:
        await case.adapter.issue({}, case.config, wanted())
    assert "FIXTURE" not in told.value.detail
    assert played.account.calls == []


@pytest.mark.parametrize(
    "text",
    ["", "{}", "null", "[]", "FIXTURE{", '{"token": ""}', '{"token": 7}', '{"token": "a b"}'],
)
async def test_a_store_without_a_login_is_logged_out(case: Case, tmp_path: Path, text: str) -> None:
    (tmp_path / LINUX / "auth.json").write_text(text)
    with pytest.raises(LoginExpired, match="logged out") as told:
        await case.adapter.connect("cli", new_id("tgt"), case.config, {})
    assert "FIXTURE" not in told.value.detail


async def test_a_store_that_cannot_be_read_is_no_expiry(case: Case, tmp_path: Path) -> None:
    (tmp_path / LINUX / "auth.json").unlink()
    (tmp_path / LINUX / "auth.json").mkdir()
    with pytest.raises(ProviderFailed):
        await case.adapter.health({}, case.config)


@pytest.mark.parametrize(
    ("folder", "environ"),
    [
        (LINUX, {}),
        (MAC, {}),
        (".now", {}),
        (".local/share/now", {}),
        ("data/com.vercel.cli", {"XDG_DATA_HOME": "data"}),
    ],
)
async def test_the_login_is_read_where_the_cli_keeps_it(
    played: Played, api: Api, tmp_path: Path, folder: str, environ: dict[str, str]
) -> None:
    write_login(tmp_path, folder, **session(played))
    named = {name: str(tmp_path / value) for name, value in environ.items()}
    mine = played.local(tmp_path, api, named)
    assert await mine.adapter.health({}, mine.config) == "jane"


async def test_a_folder_of_an_older_name_counts_only_without_a_newer_one(
    played: Played, api: Api, tmp_path: Path
) -> None:
    write_login(tmp_path, ".now", **session(played))
    (tmp_path / LINUX).mkdir(parents=True)
    mine = played.local(tmp_path, api)
    with pytest.raises(LoginExpired, match="logged out"):
        await mine.adapter.health({}, mine.config)


@pytest.mark.parametrize(
    "api_address", ["https://api.vercel.com.example", "http://10.0.0.1", "https://127.0.0.1"]
)
def test_this_machine_s_login_is_sent_to_vercel_or_this_machine_alone(
    case: Case, api_address: str
) -> None:
    with pytest.raises(Invalid, match="^api: "):
        checked(case.provider, "cli", {"api": api_address}, {}, local_machine=True)


async def test_elsewhere_than_on_this_machine_it_is_not_offered(case: Case) -> None:
    deps: Any = Deps(MemoryVault(), now)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="own machine"):
        await vercel.adapter(deps).health({}, case.config)
    assert {m.name for m in vercel.PROVIDER.offered(False).methods} == {"token"}
