"""Google Cloud by workload identity federation: what a token opens, and what it doesn't."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from string import Template
from typing import Any

import pytest
from conformance import Case, Conformance, now
from gcp_case import (
    DEPLOYER,
    ISSUER,
    OTHER,
    PROVIDER,
    TARGET,
    Played,
    google_cloud,
    once,
    token,
    wanted,
)  # fmt: skip
from styx_adapters import gcp_api
from styx_adapters.adapter import Minted, Want
from styx_adapters.commands.load import tool
from styx_adapters.gcp_trust import PREPARE
from styx_adapters.identity import subject
from styx_adapters.playing import playing
from styx_core.errors import Invalid, LoginExpired, ProviderFailed
from styx_core.ids import new_id
from styx_core.scope import Scope

READ, WRITE, DELETE = Scope.READ, Scope.WRITE, Scope.DELETE
OBJECTS, NETWORKS = "/storage/v1/b/releases/o", "/compute/v1/projects/acme-prod/global/networks"
UPLOAD = "/upload/storage/v1/b/releases/o?uploadType=media&name="


@pytest.fixture(scope="module")
def played() -> Iterator[Played]:
    with google_cloud() as made:
        yield made


@pytest.fixture
def case(played: Played) -> Case:
    return played.case(
        "federation",
        played.adapter(),
        config={"provider": PROVIDER, "service_account": DEPLOYER},
        refused={"config": {"service_account": OTHER}},
    )


class TestGcp(Conformance):
    """A workload identity provider that trusts this Styx: nothing standing is stored."""

    target = TARGET


async def issued(case: Case, want: Want, **config: str) -> Minted:
    """What comes out, as connecting configured it."""
    full = {**case.config, "method": "federation", "target_id": TARGET, **config}
    return await case.adapter.issue({}, full, want)


async def test_nothing_standing_is_stored(case: Case) -> None:
    state: Any = case.state()
    shown = await case.connected(state, TARGET)
    assert list(state.vault.held.values()) == [{"method": "federation"}]
    assert shown.config["subject"] == f"target:{TARGET}", "what the provider's condition can name"
    assert shown.label == f"{DEPLOYER} in acme-prod"


def test_what_the_project_must_be_told_names_this_target_and_no_other() -> None:
    told = Template(PREPARE).substitute(target=TARGET, issuer=ISSUER)
    assert f"--issuer-uri={ISSUER} " in told
    assert told.endswith(f"/subject/{subject(TARGET)}")


SURFACES = [
    ("storage", "GET", OBJECTS, "POST", f"{UPLOAD}new"),
    ("storage", "GET", f"{OBJECTS}/app-1.0.tgz", "DELETE", f"{OBJECTS}/app-1.0.tgz"),
    ("compute", "GET", NETWORKS, "POST", NETWORKS),
    ("projects", "GET", "/v1/projects/acme-prod", "DELETE", "/v1/projects/acme-prod"),
]


@pytest.mark.parametrize(("surface", "read", "reading", "write", "writing"), SURFACES)
async def test_a_token_for_reading_writes_nothing_anywhere(
    case: Case, played: Played, surface: str, read: str, reading: str, write: str, writing: str
) -> None:
    for minted in [await issued(case, wanted(READ, surface=each)) for each in (surface, None)]:
        assert minted.scoped
        for _, _, _, method, path in SURFACES:
            assert played.status(minted, method, path, name="evil") == 403
        other = f"/v1/projects/-/serviceAccounts/{DEPLOYER}:generateAccessToken"
        assert played.status(minted, "POST", other, scope=["x"]) == 403, "nor makes other tokens"
    narrow = await issued(case, wanted(READ, surface=surface))
    assert played.status(narrow, read, reading) == 200
    changing = await issued(case, wanted(WRITE, surface=surface))
    assert not changing.scoped
    assert played.status(changing, read, reading) == 200


async def test_a_service_without_a_read_only_scope_is_said_not_to_be_narrowed(
    case: Case, played: Played
) -> None:
    services = "/v2/projects/acme-prod/locations/-/services"
    minted = await issued(case, wanted(READ, surface="run"))
    assert played.status(minted, "GET", services) == 200
    assert not minted.scoped
    assert not case.provider.narrowable(frozenset({READ}), "run", case.method)
    assert case.provider.narrowable(frozenset({READ}), "compute", case.method)
    told = type(case.provider).from_json(case.provider.to_json(), {"gcloud": tool("gcloud")})
    assert told == case.provider, "what the catalog tells whoever decides"
    unknown = await issued(case, wanted(READ, surface=None))
    assert played.status(unknown, "GET", services) == 403, "scoped, so it opens nothing there"


async def test_a_bounded_reader_reads_what_the_command_names(case: Case, played: Played) -> None:
    minted = await issued(case, once(READ, command="cat gs://releases/app-1"))
    assert minted.scoped
    assert played.status(minted, "GET", f"{OBJECTS}/app-1.0.tgz") == 200
    assert played.status(minted, "GET", f"{OBJECTS}?prefix=app-1") == 200
    for path in (f"{OBJECTS}?prefix=", f"{OBJECTS}/notes", "/storage/v1/b/private/o/keys"):
        assert played.status(minted, "GET", path) == 403
    for path in ("/storage/v1/b", NETWORKS, "/v1/projects/acme-prod"):
        assert played.status(minted, "GET", path) == 403
    assert played.status(minted, "DELETE", f"{OBJECTS}/app-1.0.tgz") == 403
    assert played.status(minted, "POST", f"{UPLOAD}app-1.9.tgz") == 403


async def test_a_bounded_writer_writes_there_and_overwrites_nothing(
    case: Case, played: Played
) -> None:
    command = "cp app.tgz gs://releases/app-1.0"
    minted = await issued(case, once(READ, WRITE, command=command))
    assert minted.scoped
    assert played.status(minted, "POST", f"{UPLOAD}app-1.0.sig") == 200
    assert played.status(minted, "POST", f"{UPLOAD}app-1.0.tgz") == 403, "it is there already"
    assert played.status(minted, "POST", f"{UPLOAD}app-2") == 403
    assert played.status(minted, "DELETE", f"{OBJECTS}/app-1.0.tgz") == 403
    assert not (await issued(case, once(WRITE, command=command))).scoped, "it can read there too"


async def test_a_bounded_deleter_deletes_that_and_no_more(case: Case, played: Played) -> None:
    played.cloud.services.buckets["releases"] |= {"old-1": b"1", "new-1": b"1"}
    minted = await issued(case, once(DELETE, command="rm gs://releases/old-1"))
    assert not minted.scoped, "no role deletes without creating and reading"
    assert played.status(minted, "DELETE", f"{OBJECTS}/new-1") == 403
    assert played.status(minted, "DELETE", "/storage/v1/b/private/o/keys") == 403
    assert played.status(minted, "DELETE", f"{OBJECTS}/old-1") == 204


async def test_overlapping_grants_have_tokens_of_their_own(case: Case, played: Played) -> None:
    first, second = [await issued(case, wanted(READ)) for _ in range(2)]
    assert token(first) != token(second)
    full = {**case.config, "method": "federation", "target_id": TARGET}
    ended = await case.adapter.revoke({}, full, first.handle)
    assert ended.outcome == "expiry"
    assert first.expires_at.isoformat() in ended.detail
    assert played.status(second, "GET", OBJECTS) == 200


async def test_a_token_dies_with_its_grant(
    case: Case, played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    until = now() + timedelta(minutes=7)
    minted = await issued(case, wanted(READ, until=until))
    assert played.cloud.asked[-1]["lifetime"] in ("419s", "420s")
    assert played.status(minted, "GET", OBJECTS) == 200
    monkeypatch.setattr(played.cloud, "now", lambda: until + timedelta(seconds=1))
    assert played.status(minted, "GET", OBJECTS) == 401


async def test_connecting_makes_a_token_that_opens_nothing(case: Case, played: Played) -> None:
    await case.connected(case.state(), TARGET)
    asked = played.cloud.asked[-1]
    assert asked["scope"] == [gcp_api.EMAIL_SCOPE]
    assert asked["lifetime"] == "60s"


async def test_the_identity_of_another_target_makes_no_token(case: Case) -> None:
    with pytest.raises(LoginExpired, match="iam.serviceAccountTokenCreator"):
        await issued(case, wanted(READ), target_id=new_id("tgt"))
    with pytest.raises(LoginExpired, match="workload identity provider"):
        await issued(case, wanted(READ), provider=PROVIDER.replace("styx", "elsewhere"))


@pytest.mark.parametrize(
    "more", [{"issuer": "https://other.example"}, {"now": lambda: now() - timedelta(hours=1)}]
)
async def test_a_foreign_or_old_identity_is_refused(
    case: Case, played: Played, more: dict[str, Any]
) -> None:
    with pytest.raises(LoginExpired) as told:
        await issued(replace(case, adapter=played.adapter(**more)), wanted(READ))
    assert "ey" not in told.value.detail.replace("they", ""), "no token in what is told"


async def test_federation_needs_an_address_that_google_can_read(played: Played, case: Case) -> None:
    adapter = played.adapter(issuer="http://127.0.0.1:7000")
    with pytest.raises(Invalid, match="STYX_PUBLIC_URL"):
        await issued(replace(case, adapter=adapter), wanted(READ))


GOOD = {"access_token": "ya29.FIXTUREgood", "accessToken": "ya29.FIXTUREgood"}


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (200, b"<html>"), (200, []), (200, None), (200, {}), (503, {}), (429, {}), (302, {}),
        (200, {**GOOD, "access_token": "ya29.FIXTURE\nbad"}), (200, {**GOOD, "access_token": 7}),
        (200, {**GOOD, "expireTime": "soon"}), (200, {**GOOD, "expireTime": "2026-01-05T12:00:00"}),
        (200, {**GOOD, "expireTime": None}), (200, {**GOOD, "expireTime": "2026-99-05T12:00:00Z"}),
    ],
)  # fmt: skip
async def test_an_answer_that_is_not_googles_is_the_providers_failure(
    case: Case, status: int, said: Any
) -> None:
    with playing(lambda _: (status, said)) as url, pytest.raises(ProviderFailed) as told:
        await issued(case, wanted(READ), endpoint=url)
    assert "FIXTURE" not in told.value.detail


async def test_no_token_is_ever_in_an_address(case: Case, played: Played) -> None:
    seen: list[str] = []
    played.cloud.seen = lambda call: seen.append(f"{call.path}?{call.query}")
    await issued(case, once(READ, command="cat gs://releases/x"))
    played.cloud.seen = lambda _: None
    assert len(seen) == 3
    assert not any("ya29" in each or "eyJ" in each for each in seen)
    assert ISSUER not in str(seen)
