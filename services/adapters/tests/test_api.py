"""Providers' APIs: one meaning for each failure, bounded, and nothing quoted that came or went."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from styx_adapters.api import MOST_BYTES, URL, Answer, Api
from styx_adapters.playing import Played, playing
from styx_core.errors import Invalid, LoginExpired, ProviderFailed, StyxError

TOKEN = "FIXTURE-token-of-a-target"
SEEN: list[Played] = []
SAYS: dict[str, tuple[int, object]] = {
    "/fine": (200, {"name": "somebody"}),
    "/empty": (204, None),
    "/refused": (401, {"message": f"bad {TOKEN}"}),
    "/forbidden": (403, {"message": TOKEN}),
    "/broken": (500, {"message": TOKEN}),
    "/html": (200, b"<html>" + TOKEN.encode()),
    "/away": (302, {"location": "/fine"}),
    "/missing": (404, {"message": TOKEN}),
    "/huge": (200, b"[" + b"1," * MOST_BYTES + b"1]"),
}


def answer(call: Played) -> tuple[int, object]:
    SEEN.append(call)
    return SAYS[call.path]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with playing(answer) as address:
        yield address


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    made = Api(answer_seconds=0.5)
    yield made
    await made.close()


async def test_it_sends_the_token_as_a_bearer_and_reads_json(api: Api, url: str) -> None:
    said = await api.call("Acme", "POST", f"{url}/fine", token=TOKEN, body={"a": 1})
    assert said == {"name": "somebody"}
    assert (SEEN[-1].bearer, SEEN[-1].json(), SEEN[-1].method) == (TOKEN, {"a": 1}, "POST")
    assert await api.call("Acme", "DELETE", f"{url}/empty", form={"token": "x"}) is None
    assert SEEN[-1].form() == {"token": "x"}
    assert "authorization" not in SEEN[-1].headers


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/refused", LoginExpired),
        ("/forbidden", LoginExpired),
        ("/broken", ProviderFailed),
        ("/missing", ProviderFailed),
        ("/html", ProviderFailed),
        ("/away", ProviderFailed),
        ("/huge", ProviderFailed),
    ],
)
async def test_each_failure_has_its_meaning_and_quotes_nothing(
    api: Api, url: str, path: str, error: type[StyxError]
) -> None:
    with pytest.raises(error) as told:
        await api.call("Acme", "GET", f"{url}{path}", token=TOKEN)
    assert told.value.detail.startswith("Acme ")
    assert TOKEN not in told.value.detail
    assert told.value.__cause__ is None


async def test_a_redirect_is_not_followed_with_the_token(api: Api, url: str) -> None:
    before = len(SEEN)
    with pytest.raises(ProviderFailed):
        await api.call("Acme", "GET", f"{url}/away", token=TOKEN)
    assert [call.path for call in SEEN[before:]] == ["/away"]


async def test_what_a_person_must_correct_is_said_so(api: Api, url: str) -> None:
    with pytest.raises(Invalid, match="^project: no such project$"):
        await api.call("Acme", "GET", f"{url}/missing", wrong={404: "project: no such project"})


async def test_silence_and_nobody_there_may_pass(api: Api) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (silent.getsockname()[1], 1):
            with pytest.raises(ProviderFailed, match="^Acme did not answer"):
                await api.call("Acme", "GET", f"http://127.0.0.1:{port}/", token=TOKEN)


async def test_the_surroundings_choose_no_way_and_no_identity(
    api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert await Api().call("Acme", "GET", f"{url}/fine") == {"name": "somebody"}


async def test_calls_side_by_side_share_one_client(api: Api, url: str) -> None:
    calls = (api.call("Acme", "GET", f"{url}/fine") for _ in range(20))
    assert await asyncio.gather(*calls) == [{"name": "somebody"}] * 20


def test_an_answer_of_another_shape_is_the_providers_failure() -> None:
    assert Answer("Acme", {"a": 1})["a"] == 1
    with pytest.raises(ProviderFailed, match="without token"):
        Answer("Acme", {"a": 1})["token"]
    with pytest.raises(ProviderFailed, match="shape"):
        Answer("Acme", [])


@pytest.mark.parametrize(
    ("address", "fine"),
    [
        ("https://api.github.com", True),
        ("http://127.0.0.1:4321/api/v3", True),
        ("http://[::1]:80", True),
        ("https://a@b", False),
        ("https://a.b?c=d", False),
        ("https://a.b/../c", False),
        ("https://a.b/c/", False),
        ("ftp://a.b", False),
        ("https://a.b#c", False),
        ("https://a b", False),
    ],
)
def test_an_address_holds_no_user_query_or_climb(address: str, fine: bool) -> None:
    import re

    assert bool(re.fullmatch(URL, address)) is fine
