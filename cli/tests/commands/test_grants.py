"""`styx grants`, `approve`, `deny` and `revoke`: what is shown, signed and said of the end."""

from typing import Any

import pytest
from styx_cli.commands.revoke import REACH
from styx_cli.owner_token import raw
from styx_cli.testing import ADMIN
from styx_core import signing

ID = "grt_0000000000000000000000000a"


@pytest.fixture
def waiting(broker: Any, grant: dict[str, Any]) -> Any:
    """A broker where one request waits."""
    other = {**grant, "id": "grt_0000000000000000000000000b", "state": "active"}
    broker.answers["GET /v1/grants"] = [grant, other]
    access = {"status": "active", "grant_id": ID, "scopes": ["write", "delete"], "target": "prod"}
    broker.answers[f"POST /v1/grants/{ID}/decision"] = access
    broker.answers[f"POST /v1/grants/{ID}/revoke"] = {**access, "status": "ended"}
    return broker


def signed(body: dict[str, Any], grant: dict[str, Any], **changed: Any) -> None:
    """Raises unless the body is signed over the grant as it was shown."""
    shown = {**grant, **changed}
    names = ("target", "env", "scopes", "duration", "command")
    payload = signing.decision_payload(
        grant_id=grant["id"], verdict=body["verdict"], **{name: shown[name] for name in names}
    )
    key = signing.public_key(signing.signing_key(raw(ADMIN)))
    signing.verify(key, payload, body["signature"])


def test_grants_are_a_table_or_json_as_it_came(styx: Any, waiting: Any, grant: Any) -> None:
    table = styx("grants", "--state", "pending", "--state", "active", "--project", "shop")
    assert table.code == 0
    assert ID in table.out
    assert "aws s3 rm 's3://b/a key'" in table.out
    assert "an-agent of owner" in table.out
    (asked,) = waiting.asked
    assert asked.query == {"state": ["pending", "active"], "project": ["shop"]}
    assert styx("grants", "--json").json[0] == grant


def test_no_grants_and_a_problem(styx: Any, broker: Any) -> None:
    broker.answers["GET /v1/grants"] = []
    assert styx("grants").out == "No grants yet.\n"
    assert styx("grants", "--json").json == []
    problem = {"title": "unavailable", "detail": "grants is not running", "retryable": True}
    broker.answers["GET /v1/grants"] = (503, problem)
    failed = styx("grants")
    assert (failed.code, failed.out) == (69, "")
    assert failed.err == "styx: unavailable\nstyx: grants is not running\n"


def test_one_grant_by_the_end_of_its_id(styx: Any, waiting: Any, grant: Any) -> None:
    shown = styx("grants", "show", "0000a")
    assert "command" in shown.out
    assert "\x1b" not in shown.out
    assert styx("grants", "show", ID, "--json").json == grant
    unknown = styx("grants", "show", "zzzz")
    assert (unknown.code, unknown.err) == (64, "styx: no grant zzzz; `styx grants` lists them.\n")


def test_an_approval_is_shown_then_signed(styx: Any, waiting: Any, grant: Any) -> None:
    done = styx("approve", ID, "--yes", "--reason", "as agreed")
    assert done.code == 0
    for shown in ("an-agent (agent of owner)", "prod (aws, prod)", "write, delete", "it deletes"):
        assert shown in done.out
    assert "aws s3 rm 's3://b/a key'" in done.out
    assert done.out.endswith("Approved: write, delete on prod.\n")
    assert "\x1b" not in done.out, "an agent's words draw nothing"
    (sent,) = waiting.sent("POST")
    assert (sent.body["verdict"], sent.body["reason"]) == ("approve", "as agreed")
    signed(sent.body, grant)


def test_a_narrower_approval_signs_the_narrower_one(styx: Any, waiting: Any, grant: Any) -> None:
    done = styx("approve", ID, "-y", "--scope", "write", "--for", "15m", "--json")
    assert done.json["status"] == "active"
    (sent,) = waiting.sent("POST")
    assert (sent.body["scopes"], sent.body["duration"]) == (["write"], "15m")
    signed(sent.body, grant, scopes=["write"], duration="15m")


def test_an_approval_of_two(styx: Any, waiting: Any) -> None:
    waiting.answers[f"POST /v1/grants/{ID}/decision"] = {"status": "pending"}
    assert "another person's is still needed" in styx("approve", ID, "--yes").out


def test_nothing_is_approved_without_a_yes(styx: Any, waiting: Any) -> None:
    done = styx("approve", ID)
    assert (done.code, "say --yes" in done.err) == (64, True)
    assert waiting.sent("POST") == []


def test_nothing_is_decided_without_the_owners_token(
    styx: Any, waiting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STYX_ADMIN_TOKEN")
    for words in (("approve", ID, "--yes"), ("deny", ID)):
        done = styx(*words)
        assert (done.code, "set STYX_ADMIN_TOKEN" in done.err) == (78, True)
    monkeypatch.setenv("STYX_ADMIN_TOKEN", "FIXTURE-wrong")
    done = styx("deny", ID)
    assert (done.code, "styx_own_" in done.err) == (78, True)
    assert "FIXTURE-wrong" not in done.err
    assert waiting.sent("POST") == []


def test_a_denial_is_signed_too(styx: Any, waiting: Any, grant: Any) -> None:
    done = styx("deny", ID, "--reason", "not on a Friday")
    assert (done.code, done.out) == (0, "Denied: write, delete on prod.\n")
    (sent,) = waiting.sent("POST")
    assert (sent.body["verdict"], sent.body["reason"]) == ("deny", "not on a Friday")
    signed(sent.body, grant)
    assert styx("deny", ID, "--json").json["grant_id"] == ID


def test_who_came_second_is_told(styx: Any, waiting: Any) -> None:
    problem = {"title": "already decided", "detail": "owner approved it a minute ago"}
    waiting.answers[f"POST /v1/grants/{ID}/decision"] = (409, problem)
    done = styx("approve", ID, "--yes")
    assert (done.code, "owner approved it" in done.err) == (77, True)


@pytest.mark.parametrize("how", [*REACH, "something new"])
def test_a_revoke_says_what_it_could_do(styx: Any, waiting: Any, grant: Any, how: Any) -> None:
    waiting.answers["GET /v1/grants"] = [{**grant, "revocable": how}]
    done = styx("revoke", ID, "--reason", "enough")
    assert done.out == f"Revoked {ID}: {REACH.get(how, 'ended')}.\n"
    assert waiting.sent("POST")[0].body == {"reason": "enough"}
    assert styx("revoke", ID, "--json").json["revocable"] == how


def test_the_one_extension_is_signed_over_the_end_that_was_shown(
    styx: Any, waiting: Any, grant: Any
) -> None:
    end = "2026-01-05T13:00:00+00:00"
    waiting.answers["GET /v1/grants"] = [{**grant, "state": "active", "expires_at": end}]
    later = {"status": "active", "grant_id": ID, "scopes": ["write"], "target": "prod"}
    later |= {"expires_at": "2026-01-05T14:00:00+00:00"}
    waiting.answers[f"POST /v1/grants/{ID}/extend"] = later
    assert styx("extend", ID).out == "prod: until 2026-01-05 14:00 UTC.\n"
    (sent,) = waiting.sent("POST")
    key = signing.public_key(signing.signing_key(raw(ADMIN)))
    payload = signing.extend_payload(grant_id=ID, until=end)
    signing.verify(key, payload, sent.body["signature"])
    waiting.answers["GET /v1/grants"] = [{**grant, "state": "active", "expires_at": None}]
    done = styx("extend", ID)
    assert (done.code, "no end" in done.err) == (64, True)
