"""What the demo claims: each claim holds for what should be, and fails for what should not."""

from typing import Any

import pytest
from styx_cli.demo.report import STEPS, Checks, short, story_table

GOOD: dict[str, dict[str, Any]] = {
    "start": {"held": []},
    "read": {"status": "active", "decidedBy": "policy"},
    "ls": {"exit": 0, "out": "2026 app-1.0.tgz"},
    "delete": {"status": "active", "decidedBy": "user"},
    "rm": {"exit": 0},
    "kept": {"names": ["AWS_SESSION_TOKEN"]},
    "ssh": {"exit": 0},
    "dead": {"exit": 254, "err": "AccessDenied"},
    "spent": {"exit": 0},
}
BAD: dict[str, list[dict[str, Any]]] = {
    "start": [{"held": ["AWS_ACCESS_KEY_ID"]}],
    "read": [{"status": "pending"}, {"status": "active", "decidedBy": "user"}, {"error": "x"}],
    "ls": [{"exit": 1, "out": "app-1.0.tgz"}, {"exit": 0, "out": ""}],
    "delete": [{"status": "active", "decidedBy": "policy"}, {"error": "x"}],
    "rm": [{"exit": 77}],
    "kept": [{"names": []}],
    "ssh": [{"exit": 255}],
    "dead": [{"exit": 0, "err": ""}, {"exit": 254, "err": "no route"}],
    "spent": [{"exit": 75}],
}


def heard(step: str, line: dict[str, Any]) -> tuple[bool, str]:
    said: list[str] = []
    checks = Checks()
    checks.hear({"step": step, **line}, said.append)
    return checks.ok(), said[0]


def test_every_step_is_told_good_from_bad() -> None:
    assert {*GOOD} == {*BAD} == {*STEPS}


@pytest.mark.parametrize("step", STEPS)
def test_a_step(step: str) -> None:
    what = STEPS[step][0]
    assert heard(step, GOOD[step]) == (True, what)
    for line in BAD[step]:
        ok, said = heard(step, line)
        assert (ok, said[: len(what) + 8]) == (False, f"NOT SO: {what}")


def test_one_claim_that_fails_fails_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    checks = Checks()
    assert not checks.ok(), "a demo that showed nothing did not hold"
    checks.expect("the sky is up", True)
    assert checks.ok()
    checks.expect("the sea is dry", False)
    assert not checks.ok()
    checks.hear({"step": "targets"}, lambda _text: pytest.fail("a step of no claim"))
    checks.show()
    assert capsys.readouterr().out.split("\n")[1:3] == [
        "  ✓ the sky is up",
        "  ✗ NOT SO: the sea is dry",
    ]


def test_the_table_tells_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    grant = {
        "agent": "an-agent",
        "command": ["aws", "s3", "rm", "s3://releases/\x1b[2J"],
        "scopes": ["delete"],
        "target": "prod",
        "env": "prod",
        "decided_person": "owner",
        "decided_by": "user",
        "because": [],
        "why": "no rule allows it",
        "leases": 2,
        "revocable": "deny-policy",
        "decided_at": "2026-01-05T12:00:00+00:00",
        "ended_at": "2026-01-05T12:00:02.500000+00:00",
        "state": "revoked",
    }
    ahead = {**grant, "command": [], "because": ["rule-1"], "leases": 0, "ended_at": None}
    story_table([ahead, grant])
    shown = capsys.readouterr().out
    first, second = shown.splitlines()[1:3]
    for part in ("an-agent", "prod (prod)", "owner", "no rule allows it", "2 × deny-policy"):
        assert part in first
    assert "2.5 s (revoked)" in first
    assert "delete" in second
    assert "rule-1" in second
    assert "\x1b" not in shown
    story_table([])
    assert capsys.readouterr().out == "Nothing was asked.\n"


def test_a_long_command_keeps_both_ends() -> None:
    assert short("aws s3 ls") == "aws s3 ls"
    long = short("aws s3 cp " + "x" * 100 + " s3://releases/app")
    assert len(long) == 47
    assert (long[:10], long[-17:]) == ("aws s3 cp ", "s3://releases/app")
