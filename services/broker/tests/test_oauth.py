"""OAuth's rules by themselves: ways back, metadata, requests, proofs."""

import base64
import contextlib
import hashlib
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_broker.oauth import (
    Asked,
    Refused,
    agent_name,
    challenge_of,
    fits,
    once,
    place_of,
    proves,
    registration,
    resource_metadata,
    server_metadata,
    way_back,
)
from styx_core.oauth_places import challenge, issuer, resource

URL = "https://styx.example"
LOOPBACK = "http://127.0.0.1:3333/callback"
CURSOR = "cursor://anysphere.cursor-mcp/oauth/callback"
VERIFIER = "FIXTURE-verifier-" + "v" * 40
S256 = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).rstrip(b"=").decode()
REQUEST = {
    "response_type": "code",
    "code_challenge": S256,
    "code_challenge_method": "S256",
    "resource": f"{URL}/mcp",
}


@pytest.mark.parametrize(
    "uri",
    [
        *(LOOPBACK, "http://localhost/cb", "http://[::1]:9/", "http://127.0.0.1?x=1"),
        *("https://app.example/cb", "https://app.example:8443/cb?tab=1", "https://app.example"),
        CURSOR,
    ],
)
def test_a_way_back_is_this_machine_or_over_tls(uri: str) -> None:
    assert way_back(uri) == uri


def test_the_host_of_a_way_back_is_told_where_it_leads_elsewhere() -> None:
    assert [place_of(uri) for uri in (LOOPBACK, CURSOR)] == [None, None]
    assert place_of("https://app.example:8443/cb") == "app.example:8443"


@pytest.mark.parametrize(
    "uri",
    [
        *("http://app.example/cb", "http://127.0.0.1.evil.example/", "http://localhost.evil/"),
        *("http://127.0.0.1@evil.example/", "https://good.example@evil.example/", "//evil.example"),
        *("javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "cursor://x/cb", "/cb"),
        *(f"{CURSOR}?a=1", f"{CURSOR}/", CURSOR.upper(), "vscode://anysphere.cursor-mcp/cb"),
        *("https://app.example/#cb", "https://a b/", "https://app.example\\@evil/", "https://", ""),
        *(
            "https://app.example/\r\nX: y",
            "https://app.example/é",
            "HTTP://127.0.0.1/",
            "http://0/",
        ),
        *("http://127.0.0.1:999999/", "http://127.1/", "http://2130706433/", "https:app.example"),
        *("https://app.example/?code=1", "https://app.example/?state=1", "https://a/?a=1&iss=x"),
        *("https://app.example/" + "x" * 2000, None, 7, ["https://app.example"]),
    ],
)
def test_every_other_way_back_is_refused(uri: Any) -> None:
    with pytest.raises(Refused) as refused:
        way_back(uri)
    assert refused.value.error == "invalid_redirect_uri"


@pytest.mark.parametrize(
    ("asked", "registered", "same"),
    [
        (LOOPBACK, "http://127.0.0.1/callback", True),
        ("http://[::1]:1/cb", "http://[::1]:2/cb", True),
        ("http://localhost:1/cb", "http://127.0.0.1:1/cb", False),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:1/other", False),
        ("http://127.0.0.1:1/cb?a=1", "http://127.0.0.1:1/cb", False),
        ("https://a.example/cb", "https://a.example/cb", True),
        ("https://a.example:444/cb", "https://a.example/cb", False),
        ("https://a.example/cb/", "https://a.example/cb", False),
        ("https://a.example/cb/../x", "https://a.example/x", False),
    ],
)
def test_only_a_port_on_loopback_may_differ(asked: str, registered: str, same: bool) -> None:
    assert fits(asked, registered) is same


GOOD: dict[str, Any] = {"client_name": "Claude Code", "redirect_uris": [LOOPBACK]}


def test_metadata_that_is_right_is_kept_and_what_is_unknown_is_left() -> None:
    more = {"grant_types": ["authorization_code", "refresh_token"], "response_types": ["code"]}
    more |= {"token_endpoint_auth_method": "none", "software_id": "x", "jwks": {"keys": []}}
    assert registration(GOOD | more) == registration(GOOD)
    assert registration({"redirect_uris": [LOOPBACK]}).name == "a client without a name"


@pytest.mark.parametrize(
    ("part", "value"),
    [
        *(("client_name", bad) for bad in (7, "x" * 101, "a\0b", "\ud800", ["x"])),
        *(("token_endpoint_auth_method", bad) for bad in ("private_key_jwt", 7, ["none"], {})),
        *(("grant_types", bad) for bad in (["implicit"], "authorization_code", 7)),
        *(("response_types", bad) for bad in (["token"], "code", [])),
        *(("redirect_uris", bad) for bad in (None, [], "x", [7], [LOOPBACK] * 11, ["http://e/"])),
    ],
)
def test_bad_metadata_is_refused_by_name(part: str, value: Any) -> None:
    with pytest.raises(Refused) as refused:
        registration(GOOD | {part: value})
    assert refused.value.detail.startswith(f"{part}: ")


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_no_metadata_is_a_fault(said: Any) -> None:
    with pytest.raises(Refused):
        registration(said)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": ""}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": ""}, "invalid_request"),
        ({"code_challenge_method": "s256"}, "invalid_request"),
        ({"code_challenge": ""}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"code_challenge": "é" * 43}, "invalid_request"),
        ({"resource": f"{URL}/mcp/"}, "invalid_target"),
        ({"resource": URL}, "invalid_target"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "admin"}, "invalid_scope"),
        ({"response_mode": "fragment"}, "invalid_request"),
    ],
)
def test_a_request_that_is_wrong_is_refused(change: dict[str, str], error: str) -> None:
    said = {name: value for name, value in (REQUEST | change).items() if value}
    with pytest.raises(Refused) as refused:
        challenge_of(said, URL)
    assert refused.value.error == error


def test_a_request_that_is_right_goes_on() -> None:
    assert challenge_of(REQUEST | {"scope": "agent offline_access"}, URL) == S256
    assert challenge_of({n: v for n, v in REQUEST.items() if n != "resource"}, URL) == S256


def test_a_verifier_proves_only_its_own_challenge() -> None:
    assert proves(VERIFIER, S256)
    for wrong in (VERIFIER + "x", VERIFIER[:42], "", S256, "é" * 50, "v" * 129):
        assert not proves(wrong, S256)
    assert not proves(VERIFIER, VERIFIER), "plain is no proof"


@pytest.mark.parametrize("text", ["a=1&a=2", "state=x&state=", "a=%00", "&".join(["a=1"] * 50)])
def test_a_parameter_comes_once(text: str) -> None:
    with pytest.raises(Refused) as refused:
        once(text)
    assert refused.value.error == "invalid_request"


@given(st.text())
def test_no_form_is_a_fault(text: str) -> None:
    with contextlib.suppress(Refused):
        assert isinstance(once(text), dict)


@given(st.text(max_size=200))
def test_a_state_comes_back_as_it_was(state: str) -> None:
    for back in (LOOPBACK, "https://app.example/cb?tab=1"):
        asked = Asked("cli", "x", back, state, {})
        answered = asked.answer(URL, code="c")
        assert answered.startswith(back)
        assert not urlsplit(answered).fragment
        said = parse_qs(urlsplit(answered).query, keep_blank_values=True)
        assert (said["code"], said["state"], said["iss"]) == (["c"], [state], [URL])


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("Claude Code (styx)", "Claude-Code-styx"),
        ("\u202e<script>", "script"),
        ("漢字", "client"),
        ("..", "client"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_client_s_words_become_an_agent_s_name(words: str, name: str) -> None:
    assert agent_name(words) == name


@pytest.mark.parametrize("url", [URL, URL + "/"])
def test_one_issuer_everywhere_byte_for_byte(url: str) -> None:
    told = server_metadata(url)
    assert told["issuer"] == issuer(url) == URL
    assert resource_metadata(url)["authorization_servers"] == [URL]
    assert resource_metadata(url)["resource"] == resource(url) == f"{URL}/mcp"
    where = f'resource_metadata="{URL}/.well-known/oauth-protected-resource/mcp"'
    assert where in challenge(url, shown=False)
    assert "error=" not in challenge(url, shown=False)
    assert 'error="invalid_token"' in challenge(url, shown=True)
    assert told["code_challenge_methods_supported"] == ["S256"]
