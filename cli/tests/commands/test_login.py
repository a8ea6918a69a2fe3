"""`styx login`: the one-time link becomes an owner's token that is shown once and never sent."""

import json
from typing import Any

import pytest
from styx_cli.owner_token import raw
from styx_core import signing

CODE = "styx_adm_FIXTURE"


@pytest.fixture
def open_broker(broker: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A broker that nobody owns yet; nobody has a token."""
    monkeypatch.delenv("STYX_ADMIN_TOKEN")
    monkeypatch.delenv("STYX_URL")
    broker.answers["POST /v1/claim"] = (201, {"person": "somebody"})
    return broker


def test_the_token_is_made_here_and_only_what_derives_from_it_is_sent(
    styx: Any, open_broker: Any
) -> None:
    done = styx("login", "--name", "somebody", stdin=f"{open_broker.url}/admin#{CODE}\n")
    assert (done.code, done.err) == (0, "")
    export, _, token = done.out.strip().partition("=")
    assert export == "export STYX_ADMIN_TOKEN", "so that a shell can take it as it is"
    (sent,) = open_broker.asked
    known = raw(token)
    assert sent.body == {
        "code": CODE,
        "person": "somebody",
        "bearer": signing.bearer(known),
        "key": signing.public_key(signing.signing_key(known)),
    }
    assert token not in json.dumps(sent.body)


@pytest.mark.parametrize(("user", "person"), [("a-user", "a-user"), ("", "owner")])
def test_a_name_that_is_not_given_is_the_users(
    styx: Any, open_broker: Any, monkeypatch: pytest.MonkeyPatch, user: str, person: str
) -> None:
    monkeypatch.setenv("USER", user)
    assert styx("login", stdin=f"{open_broker.url}/admin#{CODE}").code == 0
    assert open_broker.asked[0].body["person"] == person


@pytest.mark.parametrize(
    "link",
    ["", "\n", CODE, "http://127.0.0.1:1/", "styx_own_FIXTURE", "http://127.0.0.1:1/admin?FIXTURE"],
)
def test_what_is_no_admin_link_is_refused_and_not_repeated(
    styx: Any, open_broker: Any, link: str
) -> None:
    done = styx("login", stdin=link)
    assert (done.code, done.out) == (64, "")
    assert "`styx up` prints the first one" in done.err
    assert "FIXTURE" not in done.err
    assert open_broker.asked == []


def test_a_link_that_leads_nowhere(styx: Any, open_broker: Any) -> None:
    assert styx("login", stdin=f"/admin#{CODE}").code == 78
    assert styx("login", stdin=f"http://127.0.0.1:1/admin#{CODE}").code == 69


def test_a_link_that_was_used_gives_no_token(styx: Any, open_broker: Any) -> None:
    problem = {"title": "forbidden", "detail": "the admin link was used already"}
    open_broker.answers["POST /v1/claim"] = (403, problem)
    done = styx("login", stdin=f"{open_broker.url}/admin#{CODE}")
    assert (done.code, done.out) == (77, "")
    assert "was used already" in done.err
    assert CODE not in done.err


def test_the_link_is_no_argument(styx: Any, open_broker: Any) -> None:
    done = styx("login", f"{open_broker.url}/admin#{CODE}")
    assert done.code == 2, "other users of this machine can see a command line"
    assert open_broker.asked == []
