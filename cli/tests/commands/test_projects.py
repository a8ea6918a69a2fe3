"""`styx projects` and `styx policy`: what is listed, made, read and put in force."""

from pathlib import Path
from typing import Any

import pytest
from styx_cli.owner_token import raw
from styx_cli.testing import ADMIN
from styx_core import signing

SHOP, BLOG = {"id": "prj_1", "name": "shop"}, {"id": "prj_2", "name": "blog"}
RULES = '[[rule]]\nid = "all"\neffect = "ask"\n'


@pytest.fixture
def two(broker: Any) -> Any:
    """A broker with two projects."""
    broker.answers["GET /v1/projects"] = [SHOP, BLOG]
    broker.answers["GET /v1/projects/prj_1/policy"] = {"toml": RULES}
    broker.answers["PUT /v1/projects/prj_2/policy"] = {"toml": RULES}
    return broker


def test_projects_are_a_table_or_json(styx: Any, two: Any) -> None:
    assert [line.split() for line in styx("projects").out.splitlines()] == [
        ["project", "id"],
        ["shop", "prj_1"],
        ["blog", "prj_2"],
    ]
    assert styx("projects", "--json").json == [SHOP, BLOG]
    two.answers["GET /v1/projects"] = []
    assert styx("projects").out == "No project yet: styx projects create NAME\n"


def test_a_project_is_made(styx: Any, broker: Any) -> None:
    broker.answers["POST /v1/projects"] = (201, SHOP)
    assert styx("projects", "create", "shop").out == "Project shop (prj_1).\n"
    assert styx("projects", "create", "shop", "--json").json == SHOP
    assert [call.body for call in broker.sent("POST")] == [{"name": "shop"}] * 2
    taken = {"title": "invalid", "detail": "name: there is a project 'shop' already"}
    broker.answers["POST /v1/projects"] = (422, taken)
    done = styx("projects", "create", "shop")
    assert (done.code, done.out) == (64, "")
    assert "there is a project 'shop' already" in done.err


def test_rules_are_printed_as_they_are(styx: Any, two: Any) -> None:
    assert styx("policy", "show", "--project", "shop").out == RULES


@pytest.mark.parametrize("words", [(), ("--project", "nowhere")])
def test_which_project_is_asked_for_by_name(styx: Any, two: Any, words: tuple[str, ...]) -> None:
    done = styx("policy", "show", *words)
    assert (done.code, done.err) == (64, "styx: --project: name one of: shop, blog\n")


def test_no_project_at_all(styx: Any, broker: Any) -> None:
    broker.answers["GET /v1/projects"] = []
    done = styx("policy", "show")
    assert (done.code, "styx projects create" in done.err) == (64, True)


def test_rules_are_signed_and_put(styx: Any, two: Any, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    done = styx("policy", "apply", str(file), "--project", "prj_2")
    assert (done.code, done.out, done.err) == (0, "", "The rules are in force.\n")
    (sent,) = two.sent("PUT")
    assert sent.body["toml"] == RULES
    key = signing.public_key(signing.signing_key(raw(ADMIN)))
    payload = signing.policy_payload(project_id="prj_2", toml=RULES, nonce=sent.body["nonce"])
    signing.verify(key, payload, sent.body["signature"])


def test_rules_from_stdin(styx: Any, two: Any) -> None:
    assert styx("policy", "apply", "-", "--project", "blog", stdin=RULES).code == 0
    assert two.sent("PUT")[0].body["toml"] == RULES


def test_faulty_rules_are_named_by_the_broker(styx: Any, two: Any) -> None:
    problem = {"title": "invalid", "detail": "policy: rule all: unknown key 'efect'"}
    two.answers["PUT /v1/projects/prj_2/policy"] = (422, problem)
    done = styx("policy", "apply", "-", "--project", "blog", stdin="efect")
    assert (done.code, "unknown key 'efect'" in done.err) == (64, True)
    assert "in force" not in done.err


def test_a_file_that_cant_be_read(styx: Any, two: Any, tmp_path: Path) -> None:
    binary = tmp_path / "rules.toml"
    binary.write_bytes(b"\xff\xfe rule")
    for path in (binary, tmp_path / "absent", tmp_path):
        done = styx("policy", "apply", str(path), "--project", "blog")
        assert done.code in (2, 64)
        assert str(path) in done.err.replace("\n", "").replace("│", "").replace(" ", "")
    assert two.sent("PUT") == []
