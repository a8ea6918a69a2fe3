"""Arguments: each wrong one is named, none is coerced, and nothing wrong goes further."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from styx_core.errors import Invalid
from styx_core.ids import new_id
from styx_mcp_gateway.registry import BY_NAME, TOOLS

GRANT = new_id("grt")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
RIGHT: dict[str, dict[str, Any]] = {
    "list_targets": {},
    "request_access": {
        "target": "shop",
        "scopes": ["read"],
        "reason": "look",
        "command": ["acme", "list"],
        "duration": "15m",
        "wait_s": 5,
    },
    "check_grant": {"grantId": GRANT, "wait_s": 5},
    "get_credential": {"grantId": GRANT, "publicKey": KEY},
}
NEEDED = {
    "list_targets": (),
    "request_access": ("target", "scopes", "reason"),
    "check_grant": ("grantId",),
    "get_credential": ("grantId",),
}
EACH = [(tool, key) for tool, arguments in RIGHT.items() for key in arguments]
WRONG_TYPES: list[Any] = [None, 7.5, True, {}, {"a": 1}, [None], [[]], b"x"]


def wrong(tool: str, **changed: Any) -> str:
    with pytest.raises(Invalid) as refused:
        BY_NAME[tool].check({**RIGHT[tool], **changed})
    return refused.value.detail


@pytest.mark.parametrize("tool", RIGHT)
def test_right_arguments_are_taken(tool: str) -> None:
    BY_NAME[tool].check(RIGHT[tool])
    BY_NAME[tool].check({key: RIGHT[tool][key] for key in NEEDED[tool]})


@pytest.mark.parametrize(("tool", "key"), EACH)
@pytest.mark.parametrize("value", WRONG_TYPES, ids=repr)
def test_a_wrong_type_is_named_and_never_coerced(tool: str, key: str, value: Any) -> None:
    assert wrong(tool, **{key: value}).startswith(key)


@pytest.mark.parametrize(("tool", "key"), [(t, k) for t, keys in NEEDED.items() for k in keys])
def test_a_missing_argument_is_named(tool: str, key: str) -> None:
    given = {k: v for k, v in RIGHT[tool].items() if k != key}
    with pytest.raises(Invalid, match=f"^{key}: is missing$"):
        BY_NAME[tool].check(given)


@pytest.mark.parametrize("tool", RIGHT)
def test_an_unknown_argument_is_named_with_what_there_is(tool: str) -> None:
    said = wrong(tool, colour="FIXTURE-red")
    known = ", ".join(RIGHT[tool]) or "no arguments"
    assert said == f"colour: {tool} has no such argument; it takes {known}"


def test_a_key_in_pythons_spelling_is_an_unknown_one() -> None:
    assert wrong("check_grant", grant_id=GRANT).startswith("grant_id: check_grant has no such")


@pytest.mark.parametrize(
    ("tool", "key", "value"),
    [
        ("request_access", "target", ""),
        ("request_access", "target", "x" * 201),
        ("request_access", "target", "a\x00b"),
        ("request_access", "target", "\ud800"),
        ("request_access", "scopes", []),
        ("request_access", "scopes", "read"),
        ("request_access", "scopes", ["read"] * 5),
        ("request_access", "scopes", ["READ"]),
        ("request_access", "scopes", ["admin"]),
        ("request_access", "reason", ""),
        ("request_access", "reason", "x" * 1001),
        ("request_access", "reason", "a\x1b[2J"),
        ("request_access", "command", "acme list"),
        ("request_access", "command", ["x"] * 501),
        ("request_access", "command", ["x" * 8001]),
        ("request_access", "command", ["a\x00"]),
        ("request_access", "duration", "2h"),
        ("request_access", "duration", ""),
        ("request_access", "wait_s", -1),
        ("request_access", "wait_s", 241),
        ("request_access", "wait_s", "5"),
        ("request_access", "wait_s", 10**30),
        ("check_grant", "wait_s", 241),
        ("check_grant", "grantId", ""),
        ("check_grant", "grantId", GRANT + "\n"),
        ("check_grant", "grantId", "tsk" + GRANT[3:]),
        ("check_grant", "grantId", GRANT.upper()),
        ("get_credential", "grantId", "x" * 100_000),
        ("get_credential", "publicKey", ""),
        ("get_credential", "publicKey", KEY + " me@here"),
        ("get_credential", "publicKey", KEY[:-1]),
        ("get_credential", "publicKey", KEY.replace("ssh-ed25519", "ssh-rsa")),
    ],
)
def test_a_value_that_does_not_fit_is_named_and_not_repeated(
    tool: str, key: str, value: Any
) -> None:
    said = wrong(tool, **{key: value})
    assert said.startswith(key)
    assert len(said) < 200


def test_an_error_never_repeats_a_value() -> None:
    said = wrong("request_access", duration="FIXTURE-secret", scopes=["FIXTURE-secret"])
    assert "FIXTURE" not in said


keys = st.text(max_size=80)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from(TOOLS), st.dictionaries(keys, values, max_size=6))
def test_whatever_comes_is_taken_or_refused_in_words_that_can_be_sent(
    tool: Any, arguments: dict[str, Any]
) -> None:
    said = ""
    try:
        tool.check(arguments)
    except Invalid as refused:
        said = refused.detail
    assert len(said.encode()) < 2000
