"""Vercel by an account's token, against its documented API on loopback."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from conformance import Case, Conformance, now
from styx_adapters.adapter import Minted
from styx_adapters.api import Api
from styx_adapters.fields import checked
from styx_adapters.playing import playing
from styx_adapters.providers import vercel
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope
from vercel_case import WRONG, Played, vercel_account, wanted
from vercel_server import ACME, API, AWAY, OTHER, WEB


@pytest.fixture
def played() -> Iterator[Played]:
    with vercel_account() as made:
        yield made


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    made = Api(answer_seconds=0.3)
    yield made
    await made.close()


@pytest.fixture
def case(played: Played, api: Api) -> Case:
    """A full-account token, for one team."""
    return played.case({"token": played.account.add("full")}, api, team=ACME)


class TestTeam(Conformance):
    """Tokens of one team."""


class TestProject(Conformance):
    """Tokens of one project."""

    @pytest.fixture
    def case(self, played: Played, api: Api) -> Case:
        config = {"project": WEB, "team": "acme", "reach": "project"}
        return played.case({"token": played.account.add("full")}, api, **config)


class TestHandedOn(Conformance):
    """A stored token of one project, which can make no others."""

    @pytest.fixture
    def case(self, played: Played, api: Api) -> Case:
        token = played.account.add("narrow", team=ACME, project=WEB)
        return replace(played.case({"token": token}, api, project=WEB), hands_on=True)


async def issued(case: Case, **more: Any) -> Minted:
    """What a connected target of the case issues."""
    connected = await case.adapter.connect("token", new_id("tgt"), case.config, case.secret)
    return await case.adapter.issue(case.secret, connected.config, wanted(**more))


async def test_a_team_s_token_reaches_no_other_team_and_makes_no_tokens(
    case: Case, played: Played
) -> None:
    minted = await issued(case)
    assert minted.secret["env"].keys() == {"VERCEL_TOKEN"}
    assert played.status(minted, "GET", f"/v9/projects/{WEB}?teamId={ACME}") == 200
    assert played.status(minted, "GET", f"/v9/projects?teamId={OTHER}") == 403
    assert played.status(minted, "GET", f"/v9/projects/{AWAY}") == 404
    assert played.status(minted, "POST", "/v3/user/tokens", name="another") == 403
    full = played.account.tokens[case.secret["token"]]
    assert played.status(minted, "DELETE", f"/v3/user/tokens/{full.id}") == 403


async def test_a_project_s_token_reaches_that_project_alone(case: Case, played: Played) -> None:
    minted = await issued(replace(case, config={"api": played.url, "project": WEB}))
    token = minted.secret["env"]["VERCEL_TOKEN"]
    assert played.account.tokens[token].project == WEB
    assert minted.secret["env"] == {
        "VERCEL_TOKEN": token,
        "VERCEL_ORG_ID": ACME,
        "VERCEL_PROJECT_ID": WEB,
    }
    assert played.status(minted, "GET", f"/v9/projects/{WEB}") == 200
    assert played.status(minted, "GET", f"/v9/projects/{API}") == 403
    assert played.status(minted, "DELETE", f"/v9/projects/{API}") == 403
    assert played.status(minted, "POST", "/v1/projects", name="new") == 403
    assert played.status(minted, "GET", "/v2/user") == 403
    assert played.status(minted, "POST", "/v3/user/tokens", name="another") == 403


async def test_a_project_s_token_may_be_given_the_team_s_reach(case: Case, played: Played) -> None:
    config = {"api": played.url, "project": WEB, "reach": "team"}
    minted = await issued(replace(case, config=config))
    made = played.account.tokens[minted.secret["env"]["VERCEL_TOKEN"]]
    assert (made.team, made.project) == (ACME, None), "the project's owner, though unnamed"
    assert minted.secret["env"]["VERCEL_PROJECT_ID"] == WEB
    assert played.status(minted, "GET", f"/v9/projects/{API}") == 200
    assert played.status(minted, "GET", f"/v9/projects?teamId={OTHER}") == 403


@pytest.mark.parametrize("scope", Scope)
async def test_no_token_is_said_to_be_scoped_because_each_may_do_everything(
    case: Case, played: Played, scope: Scope
) -> None:
    minted = await case.adapter.issue(case.secret, case.config, wanted(scope))
    assert (minted.scoped, minted.revocable) == (False, "hard")
    assert not vercel.PROVIDER.narrowable(frozenset({scope}), "project")
    assert played.status(minted, "POST", "/v1/projects", name="written") == 200
    assert played.status(minted, "DELETE", f"/v9/projects/{API}") == 204


async def test_a_token_ends_with_its_grant(case: Case, played: Played) -> None:
    end = now() + timedelta(seconds=90)
    minted = await issued(case, until=end)
    assert abs(minted.expires_at - end) < timedelta(milliseconds=2)
    played.account.now = lambda: end + timedelta(seconds=1)
    assert played.status(minted, "GET", "/v2/user") == 403


async def test_a_token_for_a_longer_grant_lives_an_hour(case: Case) -> None:
    minted = await issued(case, until=now() + timedelta(hours=8))
    assert minted.expires_at <= now() + timedelta(hours=1)


async def test_a_life_that_vercel_made_longer_is_told(case: Case, played: Played) -> None:
    played.account.least_ms = 86_400_000
    minted = await issued(case)
    assert minted.expires_at > now() + timedelta(hours=23)


async def test_a_token_without_an_end_is_deleted_again(case: Case, played: Played) -> None:
    played.account.endless = True
    with pytest.raises(ProviderFailed, match="without an end"):
        await issued(case)
    assert list(played.account.tokens) == [case.secret["token"]]


async def test_a_revoke_ends_that_token_and_no_other(case: Case, played: Played) -> None:
    ended, other = [await issued(case) for _ in range(2)]
    assert played.status(ended, "GET", "/v2/user") == 200
    config = {**case.config, "account": "jane"}
    for told in ("deleted", "gone already"):
        done = await case.adapter.revoke(case.secret, config, ended.handle)
        assert done.outcome == "hard"
        assert told in done.detail
    assert played.status(ended, "GET", "/v2/user") == 403
    assert played.status(other, "GET", "/v2/user") == 200
    assert played.status(await issued(case), "GET", "/v2/user") == 200


async def test_a_token_of_an_account_that_was_replaced_is_not_called_ended(
    case: Case, played: Played
) -> None:
    minted = await issued(case)
    assert minted.handle["account"] == "jane"
    with vercel_account() as elsewhere:
        token = elsewhere.account.add("full")
        config = {"api": elsewhere.url, "account": "john"}
        done = await case.adapter.revoke({"token": token}, config, minted.handle)
    assert done.outcome == "failed"


@pytest.mark.parametrize("token_id", ["", "current", "../../v1/teams/x", "a b", "x" * 200, "?a=b"])
async def test_a_handle_can_lead_a_revoke_nowhere_else(
    case: Case, played: Played, token_id: str
) -> None:
    done = await case.adapter.revoke(case.secret, case.config, {"token_id": token_id})
    assert done.outcome == "failed"
    assert played.account.calls == []


@pytest.mark.parametrize("status", [402, 403])
async def test_where_the_plan_allows_no_making_the_stored_token_is_handed_on(
    case: Case, played: Played, status: int
) -> None:
    played.account.plan = (status, {"error": {"code": "forbidden", "message": "not in this plan"}})
    end = now() + timedelta(hours=8)
    minted = await issued(case, until=end)
    assert minted.secret["env"]["VERCEL_TOKEN"] == case.secret["token"]
    assert (minted.scoped, minted.revocable, minted.handle) == (False, "none", {})
    assert minted.expires_at == end
    done = await case.adapter.revoke(case.secret, case.config, minted.handle)
    assert done.outcome == "none"
    assert case.secret["token"] in played.account.tokens


async def test_a_token_that_died_is_not_handed_on(case: Case, played: Played) -> None:
    minted = await issued(case)
    played.account.tokens.clear()
    for doing in (
        case.adapter.issue(case.secret, case.config, wanted()),
        case.adapter.health(case.secret, case.config),
        case.adapter.revoke(case.secret, case.config, minted.handle),
    ):
        with pytest.raises(LoginExpired) as told:
            await doing
        assert "FIXTURE" not in told.value.detail


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ({"team": "team_FIXTUREnobody000"}, "team: "),
        ({"team": "nobody"}, "team: "),
        ({"project": "prj_FIXTUREnone0000000"}, "project: "),
        ({"project": AWAY, "team": "acme"}, "project: "),
    ],
)
async def test_a_place_that_the_account_lacks_is_named(
    case: Case, played: Played, place: dict[str, str], named: str
) -> None:
    with pytest.raises(Invalid, match=f"^{named}"):
        await issued(replace(case, config={"api": played.url, **place}))


async def test_a_stored_token_tells_what_it_reaches(case: Case, played: Played) -> None:
    narrow = {"token": played.account.add("narrow", team=ACME, project=WEB)}
    for secret, config, label in (
        (case.secret, {}, "jane"),
        (case.secret, {"team": "acme"}, "jane / acme"),
        (case.secret, {"project": WEB}, "jane / web"),
        (narrow, {"project": WEB}, "a project's token / web"),
    ):
        place = {"api": played.url, **config}
        connected = await case.adapter.connect("token", new_id("tgt"), place, secret)
        assert connected.label == label == await case.adapter.health(secret, connected.config)
    for config in ({"project": API}, {"team": "acme"}, {}):
        with pytest.raises(LoginExpired):
            await case.adapter.connect("token", new_id("tgt"), {"api": played.url} | config, narrow)


ANSWERS = [
    *((500, b"FIXTURE"), (429, None), (400, None), (302, None), (200, None), (200, b"<html>")),
    *((200, []), (200, {}), (200, {"user": "jane", "token": 1, "bearerToken": "FIXTURE"})),
    *((200, {"user": {"username": 7}}), (200, {"token": {"id": "FIXTURE00"}, "bearerToken": 1})),
    (200, {"user": {"username": "a b"}, "bearerToken": "v" * 24, "token": {"id": "../x"}}),
]


@pytest.mark.parametrize(("status", "said"), ANSWERS)
async def test_what_is_no_answer_of_vercel_s_is_the_providers_failure(
    case: Case, status: int, said: Any
) -> None:
    with playing(lambda _: (status, said)) as url:
        config = {"api": url}
        for doing in (
            case.adapter.connect("token", new_id("tgt"), config, case.secret),
            case.adapter.issue(case.secret, config, wanted()),
        ):
            with pytest.raises(ProviderFailed) as told:
                await doing
            assert "FIXTURE" not in told.value.detail


async def test_a_401_is_a_refusal_of_the_login(case: Case) -> None:
    with playing(lambda _: (401, {"error": {"message": WRONG}})) as url:
        for doing in (
            case.adapter.issue(case.secret, {"api": url}, wanted()),
            case.adapter.health(case.secret, {"api": url}),
        ):
            with pytest.raises(LoginExpired) as told:
                await doing
            assert WRONG not in told.value.detail


@pytest.mark.parametrize("token", ["vcp_FIXTURE-with-dashes-00", "short", "vcp_FIXTURE 0000000000"])
def test_a_token_that_the_cli_would_refuse_is_refused_at_once(case: Case, token: str) -> None:
    with pytest.raises(Invalid, match="^token: ") as told:
        checked(case.provider, "token", case.config, {"token": token}, local_machine=False)
    assert token not in told.value.detail
