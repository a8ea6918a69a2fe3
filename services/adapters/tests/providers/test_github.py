"""GitHub by an App, whose key lies in a real OpenBao, against a server that plays its API."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from conformance import Case, Conformance
from github_case import (
    INSTALLATION,
    Played,
    bearer,
    connected,
    github_server,
    issued,
    vault_and_api,
)
from styx_adapters.adapter import Deps
from styx_adapters.providers import github
from styx_core.ids import new_id
from styx_core.scope import Scope

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


class TestApp(Conformance):
    """Held to what every provider is."""


CHANGES = [
    ("POST", f"{WEB}/issues"),
    ("PUT", f"{WEB}/contents/a.txt"),
    ("DELETE", f"{WEB}/contents/a.txt"),
    ("POST", f"{WEB}/git/refs"),
    ("DELETE", f"{WEB}/git/refs/heads/main"),
    ("POST", f"{WEB}/pulls"),
    ("POST", f"{WEB}/releases"),
    ("POST", f"{WEB}/labels"),
    ("POST", f"{WEB}/forks"),
    ("PUT", f"{WEB}/actions/secrets/TOKEN"),
    ("POST", f"{WEB}/actions/workflows/1/dispatches"),
    ("POST", f"{WEB}/deployments"),
    ("POST", f"{WEB}/statuses/abc"),
    ("PATCH", WEB),
    ("DELETE", WEB),
]


async def test_a_credential_for_reading_changes_nothing(case: Case, played: Played) -> None:
    minted = await issued(case, await connected(case), Scope.READ)
    assert minted.scoped
    for path in ("", "/issues", "/pulls", "/releases", "/actions/workflows", "/contents/a.txt"):
        assert played.status(minted, "GET", WEB + path) == 200
    refused = {call: played.status(minted, *call, {"name": "x"}) for call in CHANGES}
    assert set(refused.values()) == {403}, refused
    assert played.status(minted, "GET", "/user") == 403


@pytest.mark.parametrize(
    ("scopes", "may", "may_not"),
    [
        ({Scope.WRITE}, f"POST {WEB}/issues", f"DELETE {WEB}"),
        ({Scope.WRITE}, f"PUT {WEB}/contents/a.txt", f"POST {WEB}/deployments"),
        ({Scope.DEPLOY}, f"POST {WEB}/deployments", f"PUT {WEB}/contents/a.txt"),
        ({Scope.DEPLOY}, f"POST {WEB}/actions/workflows/1/dispatches", f"POST {WEB}/issues"),
        ({Scope.DELETE}, f"DELETE {WEB}", f"POST {WEB}/statuses/abc"),
        ({Scope.READ, Scope.WRITE}, f"POST {WEB}/pulls", f"PATCH {WEB}"),
    ],
    ids=str,
)
async def test_a_scope_may_change_what_its_row_says_and_is_not_called_scoped(
    case: Case, played: Played, scopes: set[Scope], may: str, may_not: str
) -> None:
    minted = await issued(case, await connected(case), *scopes)
    assert not minted.scoped
    assert played.status(minted, *may_not.split(), {"name": "x"}) == 403
    assert played.status(minted, *may.split(), {"name": "x"}) in (201, 204)


async def test_a_credential_reaches_its_repositories_alone(case: Case, played: Played) -> None:
    narrow = await issued(case, await connected(case), Scope.WRITE)
    assert played.status(narrow, "GET", DOCS) == 404
    assert played.status(narrow, "POST", f"{DOCS}/issues", {}) == 404
    config = {name: value for name, value in case.config.items() if name != "repositories"}
    whole = await case.adapter.connect("app", new_id("tgt"), config, case.secret)
    assert played.status(await issued(case, whole), "GET", DOCS) == 200


async def test_what_the_installation_lacks_is_not_asked_for(case: Case, played: Played) -> None:
    has = {"metadata": "read", "contents": "read", "issues": "write", "members": "write"}
    played.server.installations[INSTALLATION].permissions = has
    to = await connected(case)
    token = played.server.tokens[bearer(await issued(case, to, Scope.WRITE))]
    assert token.permissions == {"metadata": "read", "contents": "read", "issues": "write"}
