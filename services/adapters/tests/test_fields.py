"""What connecting is given is checked against the declaration, and nothing is coerced."""

import pytest
from adapter_fixture import STUB
from hypothesis import given
from hypothesis import strategies as st
from styx_adapters.fields import checked
from styx_core.errors import Invalid

SECRET = {"token": "FIXTURE-abc"}


def test_defaults_fill_in_what_is_left_out() -> None:
    config, secret = checked(STUB, "token", {"place": "here"}, SECRET, False)
    assert config == {"place": "here", "level": "1"}
    assert secret == SECRET
    config, _ = checked(STUB, "token", {"place": "here", "level": "7"}, SECRET, False)
    assert config["level"] == "7"


@pytest.mark.parametrize(
    ("method", "config", "secret", "says"),
    [
        ("frob", {}, {}, "method: Stub connects by token, login, not 'frob'"),
        ("login", {}, {}, "method: login reads a login on the adapters' own machine only"),
        ("token", {"place": "here"}, {}, "token: token is needed"),
        ("token", {"place": "here"}, {"token": ""}, "token: token is needed"),
        ("token", {}, SECRET, "place: place is needed"),
        ("token", {"place": "HERE"}, SECRET, "place: this is not a valid place"),
        ("token", {"place": "here\n"}, SECRET, "place: this is not a valid place"),
        ("token", {"place": "here", "level": "10"}, SECRET, "level: this is not a valid level"),
        ("token", {"place": "here"}, {"token": "x"}, "token: this is not a valid token"),
        ("token", {"place": "here"}, {"token": 7}, "token: this is not a valid token"),
        ("token", {"place": "here"}, {"token": ["FIXTURE-abc"]}, "token: this is not"),
        ("token", {"place": "here", "frob": "1"}, SECRET, "frob: token takes only place, level"),
        ("token", {"place": "here"}, {**SECRET, "frob": "1"}, "frob: token takes only"),
        ("token", {"place": "here", **SECRET}, {}, "token: secret fields go sealed"),
        ("token", {}, {**SECRET, "place": "here"}, "place: place is needed"),
    ],
)
def test_what_does_not_fit_is_named(
    method: str, config: dict[str, str], secret: dict[str, object], says: str
) -> None:
    with pytest.raises(Invalid) as told:
        checked(STUB, method, config, secret, False)
    assert told.value.detail.startswith(says)
    assert "FIXTURE" not in told.value.detail


def test_a_login_of_this_machine_is_for_this_machine() -> None:
    assert checked(STUB, "login", {}, {}, True) == ({}, {})


@given(st.text(), st.text())
def test_a_value_passes_as_it_is_or_not_at_all(place: str, token: str) -> None:
    try:
        config, secret = checked(STUB, "token", {"place": place}, {"token": token}, False)
    except Invalid as refused:
        told = refused.detail
    else:
        told = ""
        assert (config["place"], secret["token"]) == (place, token)
    assert len(token) < 8 or token not in told
