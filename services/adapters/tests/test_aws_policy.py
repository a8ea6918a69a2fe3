"""Session policies: short enough for STS, and never wider than what was granted."""

import json
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from styx_adapters.aws_policy import (
    FIND,
    MOST_CHARACTERS,
    READ_ONLY_ARN,
    ServiceActions,
    document,
    iam,
    s3_resources,
    session_policy,
)
from styx_adapters.commands.load import tool
from styx_core.classify_tree import unfold_all
from styx_core.scope import Scope

AWS = tool("aws")
SERVICES = ServiceActions(AWS)
SETS = [frozenset(s) for n in (1, 2, 3, 4) for s in combinations(Scope, n)]


def surfaces() -> list[str]:
    """Every service that the tool knows."""
    firsts = {
        path.partition(" ")[0] for paths in AWS.by_class().values() for path in unfold_all(paths)
    }
    return sorted({AWS.surfaces.get(first, first) for first in firsts})


def statement(policy: str) -> dict[str, Any]:
    """Its one statement."""
    (only,) = json.loads(policy)["Statement"]
    return dict(only)


def allowed_by(policy: str) -> Callable[[str], bool]:
    """Whether its actions cover one; a star is only ever their last letter."""
    listed = statement(policy)["Action"]
    assert not any("*" in each[:-1] or "?" in each for each in listed)
    stems = tuple(each[:-1] for each in listed if each.endswith("*"))
    exact = {each for each in listed if not each.endswith("*")}
    return lambda action: action in exact or action.startswith(stems)


def test_every_service_and_set_of_scopes_fits_or_says_that_it_is_not_scoped() -> None:
    scoped = 0
    for surface in surfaces():
        every = SERVICES.by_scope(surface)
        for scopes in SETS:
            policy, arns, fits = session_policy(SERVICES, scopes, surface)
            assert arns == ()
            assert fits == (policy is not None)
            if policy is None:
                continue
            scoped += 1
            assert len(policy) <= MOST_CHARACTERS
            granted = {a for scope in scopes for a in every[scope]}
            wider = {a for actions in every.values() for a in actions} - granted
            allows = allowed_by(policy)
            assert all(map(allows, granted)), (surface, scopes)
            assert set(filter(allows, wider)) <= set(FIND.get(surface, ())), (surface, scopes)
    assert scoped > 1000


def test_without_a_known_service_only_reading_is_narrowed() -> None:
    assert session_policy(SERVICES, frozenset({Scope.READ}), None) == (
        None,
        (READ_ONLY_ARN,),
        True,
    )
    for scopes in SETS[1:]:
        assert session_policy(SERVICES, scopes, None) == (None, (), False)


def test_a_service_that_nobody_knows_is_not_scoped() -> None:
    assert session_policy(SERVICES, frozenset({Scope.READ}), "frobnicate") == (None, (), False)


def test_one_operation_on_one_object() -> None:
    resources = s3_resources(("aws", "s3", "rm", "s3://b/k"))
    policy, _, scoped = session_policy(
        SERVICES, frozenset({Scope.DELETE}), "s3", "s3:DeleteObject", resources
    )
    assert scoped
    assert policy is not None
    assert statement(policy) == {
        "Effect": "Allow",
        "Action": sorted({"s3:DeleteObject", *FIND["s3"]}),
        "Resource": ["arn:aws:s3:::b", "arn:aws:s3:::b/k"],
    }


def test_an_operation_that_was_not_granted_does_not_count() -> None:
    policy, _, _ = session_policy(SERVICES, frozenset({Scope.READ}), "s3", "s3:DeleteObject")
    assert policy is not None
    assert not any("Delete" in action for action in statement(policy)["Action"])


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("aws s3 rm s3://b/k", {"b", "b/k"}),
        ("aws s3 cp s3://a/x s3://b/y", {"a", "a/x", "b", "b/y"}),
        ("aws s3 cp file s3://b/k", {"b", "b/k"}),
        ("aws s3 rm s3://b/k --recursive", set()),
        ("aws s3 rm s3://b/*", set()),
        ("aws s3 rm s3://b/k?", set()),
        ("aws s3 ls s3://b", set()),
        ("aws s3 ls s3://b/", set()),
        ("aws s3 ls", set()),
        ("aws s3api delete-object s3://b/k", set()),
        ("aws --region x s3 rm s3://b/k", set()),
        ("aws s3", set()),
        ("", set()),
    ],
)
def test_only_a_call_that_names_all_that_it_reaches_is_held_to_it(
    command: str, expected: set[str]
) -> None:
    found = s3_resources(tuple(command.split()))
    assert set(found) == {f"arn:aws:s3:::{each}" for each in expected}


def test_operations_with_other_names_in_iam() -> None:
    assert iam("s3:ListObjectsV2") == {"s3:ListBucket"}
    assert iam("ec2:DescribeVpcs") == {"ec2:DescribeVpcs"}


def test_a_policy_has_one_spelling() -> None:
    assert document({"b", "a"}) == document(["a", "b", "a"])
    assert statement(document(["a"]))["Resource"] == "*"
