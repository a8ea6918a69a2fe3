"""A GitHub App's key in a real OpenBao, the tokens of its leases, and what ends or fails."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio
from conformance import Case, held, now, values
from github_case import (
    APP,
    INSTALLATION,
    OTHER_APP,
    Played,
    bearer,
    connected,
    github_server,
    issued,
    pem,
    vault_and_api,
    wanted,
)
from github_server import ALL
from styx_adapters.adapter import Deps
from styx_adapters.custody import credential_ref
from styx_adapters.providers import github
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope
from styx_core.vault import NoSuchSecret

pytestmark = pytest.mark.asyncio(loop_scope="module")

MINT = f"POST /app/installations/{INSTALLATION}/access_tokens"
WEB, DOCS = "/repos/acme/web", "/repos/acme/docs"


@pytest.fixture
def played() -> Iterator[Played]:
    with github_server() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deps(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deps]:
    async with vault_and_api(tmp_path_factory.mktemp("stack")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def case(deps: Deps, played: Played) -> Case:
    return played.case(github.adapter(deps))


async def test_the_key_goes_into_vault_and_nothing_takes_it_out(case: Case, deps: Deps) -> None:
    state = case.state()
    shown = await case.connected(state, new_id("tgt"))
    entry = held(state)[shown.credential_ref]
    assert set(entry) == {"key", "method"}
    about = await deps.vault.get(f"transit/keys/{entry['key']}")
    assert (about["type"], about["exportable"]) == ("rsa-2048", False)
    assert about["allow_plaintext_backup"] is False
    assert not any("PRIVATE" in text for text in values(entry))


async def test_a_refused_key_leaves_nothing_in_vault(
    case: Case, deps: Deps, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids: list[str] = []

    def named(kind: str) -> str:
        ids.append(f"key_{len(ids)}")
        return ids[-1]

    monkeypatch.setattr("styx_adapters.github_app.new_id", named)
    for config, failure in (
        ({"app_id": OTHER_APP}, LoginExpired),
        ({"installation_id": "43"}, Invalid),
        ({"repositories": "web,elsewhere"}, Invalid),
        (case.silent, ProviderFailed),
    ):
        with pytest.raises(failure):
            await connected(case, **config)
        with pytest.raises(NoSuchSecret):
            await deps.vault.get(f"transit/keys/adapters-github-{ids[-1]}")
    assert len(ids) == 4


async def test_a_new_key_replaces_the_one_before(case: Case, deps: Deps) -> None:
    target = new_id("tgt")
    first = await case.adapter.connect("app", target, case.config, case.secret)
    await deps.vault.write(credential_ref("github", target), first.secret)
    second = await case.adapter.connect("app", target, case.config, case.secret)
    with pytest.raises(NoSuchSecret):
        await deps.vault.get(f"transit/keys/{first.secret['key']}")
    assert await case.adapter.health(second.secret, second.config)


@pytest.mark.parametrize(
    ("config", "secret", "says"),
    [
        ({"installation_id": "43"}, {}, "installation_id: "),
        ({"repositories": "web,elsewhere"}, {}, "repositories: "),
        ({}, {"private_key": pem(APP).replace("MII", "MIX")}, "private_key: "),
    ],
)
async def test_what_a_person_must_correct_is_named(
    case: Case, config: dict[str, str], secret: dict[str, str], says: str
) -> None:
    with pytest.raises(Invalid, match=says) as told:
        await case.adapter.connect("app", new_id("tgt"), case.config | config, case.secret | secret)
    assert "KEY" not in told.value.detail


async def test_a_key_is_taken_with_its_lines_and_nothing_else(case: Case) -> None:
    (pattern,) = [f.pattern for f in github.PROVIDER.methods[0].fields if f.name == "private_key"]
    text = case.secret["private_key"]
    assert re.fullmatch(pattern, text)
    assert re.fullmatch(pattern, text.replace("\n", "\r\n"))
    for wrong in (text + "x", "x" + text, text.replace("RSA ", "OPENSSH "), text[:60], text * 2):
        assert not re.fullmatch(pattern, wrong)


async def test_an_installation_without_any_permission_gets_no_token_with_all(
    case: Case, played: Played
) -> None:
    to = await connected(case)
    played.server.installations[INSTALLATION].permissions = {"members": "write"}
    before = list(played.server.made)
    with pytest.raises(Invalid, match="installation_id: "):
        await issued(case, to, Scope.READ)
    assert played.server.made == before


async def test_more_permissions_than_asked_for_are_not_called_scoped(
    case: Case, played: Played
) -> None:
    to = await connected(case)
    extra = {"metadata": "read", "issues": "write"}
    said = {"token": "ghs_FIXTURE" + "0" * 29, "expires_at": "2099-01-01T00:00:00Z"}
    for permissions in (extra, {}, {"metadata": "read", "unheard_of": "read"}):
        played.server.instead[MINT] = 201, {**said, "permissions": permissions}
        assert not (await issued(case, to, Scope.READ)).scoped


async def test_a_revoke_ends_that_token_and_no_other(case: Case, played: Played) -> None:
    to = await connected(case)
    want = wanted(Scope.READ)
    mine, other = [
        await case.adapter.issue(to.secret, to.config, replace(want, lease_id=new_id("lse")))
        for _ in range(2)
    ]
    assert bearer(mine) != bearer(other)
    for _ in range(2):  # Asked twice, it is still true.
        ended = await case.adapter.revoke(to.secret, to.config, mine.handle)
        assert ended.outcome == mine.revocable == "hard"
        assert played.status(mine, "GET", WEB) == 401
        assert played.status(other, "GET", WEB) == 200


async def test_a_revoke_goes_where_the_token_came_from(case: Case, played: Played) -> None:
    to = await connected(case)
    minted = await issued(case, to)
    elsewhere = {**to.config, **case.silent}
    assert (await case.adapter.revoke(to.secret, elsewhere, minted.handle)).outcome == "hard"
    assert played.status(minted, "GET", WEB) == 401


async def test_a_revoke_that_did_not_get_through_can_be_tried_again(
    case: Case, played: Played
) -> None:
    to = await connected(case)
    minted = await issued(case, to)
    played.server.instead["DELETE /installation/token"] = 502, b"<html>"
    with pytest.raises(ProviderFailed):
        await case.adapter.revoke(to.secret, to.config, minted.handle)
    played.server.instead.clear()
    assert (await case.adapter.revoke(to.secret, to.config, minted.handle)).outcome == "hard"


async def test_after_a_restart_a_revoke_says_when_the_token_ends(
    case: Case, deps: Deps, played: Played
) -> None:
    to = await connected(case)
    minted = await issued(case, to)
    ended = await github.adapter(deps).revoke(to.secret, to.config, minted.handle)
    assert ended.outcome == "expiry"
    assert minted.expires_at.isoformat() in ended.detail
    assert played.status(minted, "GET", WEB) == 200


async def test_tokens_that_ran_out_are_forgotten(deps: Deps, case: Case, played: Played) -> None:
    passed = [timedelta(0)]
    played.server.now = lambda: now() + passed[0]
    adapter: Any = github.adapter(replace(deps, now=played.server.now))
    later = replace(case, adapter=adapter)
    to = await connected(later)
    first = await issued(later, to)
    passed[0] = timedelta(minutes=61)
    second = await issued(later, to)
    assert list(adapter._app._live) == [second.handle["lease_id"]]
    assert played.status(first, "GET", WEB) == 401


async def test_leases_side_by_side_each_have_their_own(case: Case, played: Played) -> None:
    to = await connected(case)
    made = await asyncio.gather(*(issued(case, to) for _ in range(6)))
    assert len({bearer(each) for each in made}) == 6
    ends = [case.adapter.revoke(to.secret, to.config, each.handle) for each in made[:3]]
    await asyncio.gather(*ends)
    statuses = [played.status(each, "GET", WEB) for each in made]
    assert statuses == [401] * 3 + [200] * 3


@pytest.mark.parametrize("change", ["uninstalled", "suspended", "key gone"])
async def test_a_login_that_is_gone_is_told_from_a_failure(
    case: Case, played: Played, change: str
) -> None:
    to = await connected(case)
    if change == "uninstalled":
        del played.server.installations[INSTALLATION]
    elif change == "suspended":
        played.server.installations[INSTALLATION].suspended_at = "2026-01-01T00:00:00Z"
    else:
        played.server.apps[APP] = played.server.apps[OTHER_APP]
    for attempt in (case.adapter.health(to.secret, to.config), issued(case, to)):
        with pytest.raises(LoginExpired):
            await attempt


GET = f"GET /app/installations/{INSTALLATION}"
FINE = {"account": {"login": "acme"}, "app_slug": "s", "permissions": ALL, "suspended_at": None}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (GET, (500, {"message": "FIXTURE"})),
        (GET, (403, {"message": "API rate limit exceeded for FIXTURE"})),
        (GET, (429, {})),
        (GET, (200, b"<html>FIXTURE")),
        (GET, (200, [])),
        (GET, (200, {"suspended_at": None})),
        (GET, (301, None)),
        (MINT, (503, {})),
        (MINT, (201, {"token": "ghs_FIXTURE", "permissions": {}})),
        (MINT, (201, {"token": "ghs_FIXTURE", "permissions": {}, "expires_at": "soon"})),
        (MINT, (201, {"expires_at": "2099-01-01T00:00:00Z", "permissions": {}})),
        (MINT, (201, None)),
    ],
    ids=str,
)
async def test_what_may_pass_is_the_providers_failure(
    case: Case, played: Played, call: str, said: Any
) -> None:
    to = await connected(case)
    played.server.instead[call] = said
    with pytest.raises(ProviderFailed) as told:
        await issued(case, to)
    assert "FIXTURE" not in told.value.detail


async def test_an_app_says_whose_installation_it_is(case: Case, played: Played) -> None:
    to = await connected(case)
    assert to.label == "acme by the App styx-fixture"
    played.server.instead[GET] = 200, {**FINE, "account": {"slug": "acme-enterprise"}}
    assert (await case.adapter.health(to.secret, to.config)).startswith("acme-enterprise by")
