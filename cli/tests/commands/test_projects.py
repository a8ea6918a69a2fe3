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


SAID = {
    "requests": 7,
    "whole": True,
    "more": {"allow": 1, "ask": 0, "deny": 2},
    "changed": [
        {
            "grant_id": "grt_1",
            "created_at": "2026-01-05T12:00:00Z",
            "agent": "agent",
            "person": "ada",
            "target": "staging",
            "env": "staging",
            "scopes": ["read"],
            "command": ["aws", "s3", "ls", "a b"],
            "was": "ask",
            "would_be": "allow",
            "because": ["all"],
        }
    ],
}


def test_a_draft_is_tried_over_the_past(styx: Any, two: Any) -> None:
    two.answers["POST /v1/projects/prj_1/policy/replay"] = SAID
    words = ("policy", "replay", "-", "--project", "shop", "--days", "9")
    done = styx(*words, stdin=RULES)
    assert two.sent("POST")[0].body == {"toml": RULES, "days": 9}
    first, _, line = done.out.splitlines()[:3]
    assert first == "Of 7 requests: 1 more allowed, 0 more asked for, 2 more denied."
    assert "agent of ada  staging  aws s3 ls 'a b'  ask  allow     all" in line
    assert styx(*words, "--json", stdin=RULES).json == SAID
    two.answers["POST /v1/projects/prj_1/policy/replay"] = {**SAID, "changed": []}
    assert styx(*words, stdin=RULES).out.splitlines()[1] == "Nothing differs."


def test_a_call_is_put_to_the_rules(styx: Any, two: Any, tmp_path: Path) -> None:
    said = {"effect": "deny", "because": ["never"], "why": "a rule denies it\x1b[2J"}
    said["matched"] = ["all", "never"]
    two.answers["POST /v1/projects/prj_1/policy/simulate"] = said
    file = tmp_path / "draft.toml"
    file.write_text(RULES)
    words = ("policy", "simulate", "--project", "shop", "--draft", str(file), "--agent", "ci")
    done = styx(*words, "prod", "aws", "s3", "rm", "--recursive", "s3://b")
    assert (
        done.out
        == "deny (never): a rule denies it⟨U+001B⟩[2J\nAlso matching, and outweighed: all\n"
    )
    command = ["aws", "s3", "rm", "--recursive", "s3://b"]
    body = {"target": "prod", "command": command, "agent": "ci", "toml": RULES}
    assert two.sent("POST")[0].body == body


def test_a_draft_is_compared_with_the_rules_in_force(styx: Any, two: Any) -> None:
    two.answers["GET /v1/projects/prj_1/policy"] = {"toml": RULES}
    words = ("policy", "diff", "-", "--project", "shop")
    same = styx(*words, stdin=RULES)
    assert (same.code, same.out) == (0, "")
    other = styx(*words, stdin=f"{RULES}# \x1b[2J\n")
    assert other.code == 1
    assert "+# ⟨U+001B⟩[2J" in other.out.splitlines()
    assert two.sent("PUT") == []


def test_rules_that_approvals_suggest(styx: Any, two: Any) -> None:
    rule = {"id": "approved-1", "toml": RULES, "reason": "approved 5 times by ada", "spared": 5}
    path = "GET /v1/projects/prj_1/policy/suggestions"
    two.answers[path] = {"requests": 5, "whole": True, "rules": [rule, rule]}
    words = ("policy", "suggest", "--project", "shop", "--days", "9")
    done = styx(*words)
    assert two.sent("GET")[-1].query == {"days": ["9"]}
    assert done.out == "\n".join([f"# approved 5 times by ada\n{RULES}"] * 2)
    assert styx(*words, "--json").json["rules"] == [rule, rule]
    two.answers[path] = {"requests": 5, "whole": True, "rules": []}
    assert "Nothing to suggest from 5 requests." in styx(*words).err


def test_a_file_that_cant_be_read(styx: Any, two: Any, tmp_path: Path) -> None:
    binary = tmp_path / "rules.toml"
    binary.write_bytes(b"\xff\xfe rule")
    for path in (binary, tmp_path / "absent", tmp_path):
        done = styx("policy", "apply", str(path), "--project", "blog")
        assert done.code in (2, 64)
        assert str(path) in done.err.replace("\n", "").replace("│", "").replace(" ", "")
    assert two.sent("PUT") == []
