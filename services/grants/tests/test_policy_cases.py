"""Decision cases, as data: `cases/*.json`.

A case has rules (as in a policy's TOML; `target_rules` are a target's own), what differs from the
plain request below, and what must be in the decision.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import policy_reference as reference
import pytest
from styx_core.scope import Scope
from styx_grants.policy import Env, Origin, Policy, Request, Rule
from styx_grants.policy_toml import from_document

CASES = [
    pytest.param(case, id=f"{path.stem}: {case['case']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
    for case in json.loads(path.read_text())
]
assert len(CASES) > 40, "the case files are missing"
PLAIN: dict[str, Any] = {
    "project": "web",
    "provider": "aws",
    "env": "staging",
    "target": "t1",
    "scopes": ["read"],
    "agent": "a1",
    "person": "p1",
    "command": ["s3", "ls"],
    "at": "2026-01-05T12:00:00+00:00",
    "narrowable": True,
}


def rules_of(case: dict[str, Any]) -> list[Rule]:
    team = from_document({"rule": case["rules"]})
    own = from_document({"rule": case.get("target_rules", [])}, Origin.TARGET_POLICY)
    return [*team, *own]


def request_of(case: dict[str, Any]) -> Request:
    assert case["request"].keys() <= PLAIN.keys()
    asked = PLAIN | case["request"]
    return Request(
        **asked
        | {
            "env": Env(asked["env"]),
            "scopes": frozenset(map(Scope, asked["scopes"])),
            "command": tuple(asked["command"]),
            "at": datetime.fromisoformat(asked["at"]),
        }
    )


def plainly(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any]) -> None:
    decision = Policy.compile(rules_of(case)).evaluate(request_of(case))._asdict()
    for key, expected in case["decision"].items():
        wanted = tuple(expected) if key == "because" else expected
        assert plainly(decision[key]) == wanted, key


@pytest.mark.parametrize("case", CASES)
def test_the_reference_says_the_same(case: dict[str, Any]) -> None:
    verdict = vars(reference.decide(rules_of(case), request_of(case)))
    for key, expected in case["decision"].items():
        if key != "why":
            wanted = tuple(expected) if key == "because" else expected
            assert plainly(verdict[key]) == wanted, key
