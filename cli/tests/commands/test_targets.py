"""`styx targets`: listed, checked, prepared and connected, with secrets sealed before they go."""

from pathlib import Path
from typing import Any

import pytest
from styx_cli.commands.targets import find_method, pairs
from styx_cli.failure import Failure
from styx_cli.owner_token import raw
from styx_cli.testing import ADMIN
from styx_core import signing
from styx_core.seal import OpeningKey, connect_info

KEY = OpeningKey.make()
FIELDS = [
    {"name": "role_arn", "label": "role", "secret": False, "required": True},
    {"name": "secret_access_key", "label": "secret key", "secret": True, "required": True},
]
TARGET = {
    "id": "tgt_1",
    "name": "prod",
    "provider": "aws",
    "env": "prod",
    "label": "an account",
    "lock_state": "open",
}
CONNECT = ("targets", "connect", "prod", "--provider", "aws", "--env", "prod")


@pytest.fixture
def catalog(broker: Any) -> Any:
    """A broker whose catalog has two providers, and one project."""
    text = "$ssh_ca ${target} $styx $issuer_host"
    role = {"role": {"label": "a role", "fields": FIELDS, "prepare": ""}}
    ca = {"ca": {"label": "our CA", "fields": FIELDS[:1], "prepare": text}}
    broker.answers["GET /v1/catalog"] = {
        "providers": {"aws": {"methods": role}, "ssh": {"methods": ca}},
        "issuer": "https://styx.example",
        "sealing_key": KEY.public,
        "public": {"ssh_ca": "ssh-ed25519 FIXTURE-ca"},
    }
    broker.answers["GET /v1/projects"] = [{"id": "prj_1", "name": "shop"}]
    broker.answers["GET /v1/targets"] = [TARGET]
    broker.answers["POST /v1/targets"] = (201, TARGET)
    return broker


def test_targets_are_a_table_or_json(styx: Any, catalog: Any) -> None:
    table = styx("targets", "--project", "shop").out
    assert [line.split()[:4] for line in table.splitlines()] == [
        ["name", "provider", "env", "lock_state"],
        ["prod", "aws", "prod", "open"],
    ]
    assert catalog.asked[0].query == {"project": ["shop"]}
    assert styx("targets", "--json").json == [TARGET]
    catalog.answers["GET /v1/targets"] = []
    assert styx("targets").out == "No target yet: styx targets connect --help\n"


def test_a_secret_is_read_from_stdin_and_sealed_before_it_goes(styx: Any, catalog: Any) -> None:
    words = (*CONNECT, "--set", "role_arn=arn:aws:iam::1:role/r=1")
    done = styx(*words, stdin="secret_access_key=FIXTURE=key=\n\n")
    assert (done.code, done.out) == (0, "Connected prod: an account.\n")
    (sent,) = catalog.sent("POST")
    body = sent.body
    assert "FIXTURE" not in str(body) + done.out + done.err
    info = connect_info(body["id"])
    assert KEY.open(body["box"], info) == {"secret_access_key": "FIXTURE=key="}
    assert body["config"] == {"role_arn": "arn:aws:iam::1:role/r=1"}
    assert (body["project"], body["method"]) == ("prj_1", "role")
    payload = signing.target_payload(
        project_id="prj_1",
        target_id=body["id"],
        name="prod",
        provider="aws",
        env="prod",
        nonce=body["nonce"],
    )
    key = signing.public_key(signing.signing_key(raw(ADMIN)))
    signing.verify(key, payload, body["signature"])


def test_a_target_without_a_secret_has_no_box(styx: Any, catalog: Any) -> None:
    words = ("targets", "connect", "web", "--provider", "ssh", "--env", "staging", "--id", "tgt_9")
    assert styx(*words, "--json", stdin="FIXTURE is not read").json == TARGET
    (sent,) = catalog.sent("POST")
    assert (sent.body["id"], sent.body["box"]) == ("tgt_9", None)


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (("--set", "role_arn"), "", "say NAME=VALUE"),
        ((), "FIXTURE-alone\n", "say NAME=VALUE"),
        (("--method", "key"), "", "--method: aws has role"),
        (("--provider", "acme"), "", "--provider: one of aws, ssh"),
        (("--project", "nowhere"), "", "--project: name one of: shop"),
    ],
)
def test_a_field_that_cant_be(
    styx: Any, catalog: Any, words: tuple[str, ...], stdin: str, said: str
) -> None:
    done = styx(*CONNECT, *words, stdin=stdin)
    assert (done.code, said in done.err) == (64, True), done.err
    assert "FIXTURE" not in done.err, "what is typed for a secret is not repeated"
    assert catalog.sent("POST") == []


def test_what_the_broker_refuses_is_said(styx: Any, catalog: Any) -> None:
    refusal = {"title": "login expired", "detail": "AWS does not know this key"}
    catalog.answers["POST /v1/targets"] = (409, refusal)
    done = styx(*CONNECT, stdin="secret_access_key=FIXTURE\n")
    assert (done.code, done.err) == (77, "styx: login expired\nstyx: AWS does not know this key\n")


@pytest.mark.parametrize(
    ("answer", "word", "code"),
    [
        ({"ok": True, "expired": False, "detail": "fine"}, "works", 0),
        ({"ok": False, "expired": True, "detail": "403"}, "expired: reconnect", 78),
        ({"ok": False, "expired": False, "detail": "slow"}, "no answer now", 69),
    ],
)
def test_a_targets_own_login_is_tried(
    styx: Any, catalog: Any, answer: dict[str, Any], word: str, code: int
) -> None:
    catalog.answers["POST /v1/targets/tgt_1/check"] = answer
    done = styx("targets", "check", "prod")
    assert (done.code, word in done.out) == (code, True)
    (found,) = styx("targets", "check", "--json").json
    assert found == {**TARGET, **answer}
    unknown = styx("targets", "check", "nowhere")
    assert (unknown.code, "no target 'nowhere'" in unknown.err) == (64, True)


def test_the_other_end_is_prepared_with_the_targets_own_id(styx: Any, catalog: Any) -> None:
    done = styx("targets", "prepare", "ssh")
    first, last = done.out.splitlines()
    principal = last.partition("--id ")[2].split()[0]
    assert principal.startswith("tgt_")
    assert first == f"ssh-ed25519 FIXTURE-ca {principal} {catalog.url} styx.example"
    assert last.startswith("# then: styx targets connect NAME --provider ssh --method ca")
    other = styx("targets", "prepare", "aws")
    assert (other.code, "aws by role needs nothing" in other.err) == (64, True)
    wrong = styx("targets", "prepare", "ssh", "--method", "role")
    assert (wrong.code, "--method: ssh has ca" in wrong.err) == (64, True)


def test_a_secret_may_lie_in_a_file(styx: Any, catalog: Any, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("FIXTURE\nlines\n")
    assert styx(*CONNECT, "--file", f"secret_access_key={file}").code == 0
    body = catalog.sent("POST")[0].body
    opened = KEY.open(body["box"], connect_info(body["id"]))
    assert opened == {"secret_access_key": "FIXTURE\nlines\n"}
    absent = styx(*CONNECT, "--file", f"secret_access_key={tmp_path / 'absent'}")
    assert (absent.code, "absent can't be read: No such file" in absent.err) == (64, True)


def test_the_first_way_to_connect_is_the_default() -> None:
    known = {"aws": {"methods": {"role": {"fields": FIELDS}, "key": {"fields": []}}}}
    assert find_method(known, "aws", None) == ("role", FIELDS)
    assert find_method(known, "aws", "key") == ("key", [])


def test_a_value_may_hold_what_it_likes() -> None:
    assert pairs(["a=", "b==", "c=d=e\n"]) == {"a": "", "b": "=", "c": "d=e\n"}
    with pytest.raises(Failure):
        pairs(["a=b", "c"])
